// SPDX-License-Identifier: Apache-2.0
// Shared keys: the ceremony, and new shares.
#include <string>
#include <utility>
#include <vector>

#include "c/owner/parts.h"
#include "c/passphrase.h"
#include "c/result.h"
#include "heft/key_set.h"

namespace heft::c {
namespace {

absl::StatusOr<Replacement> ReplacementOf(uint32_t replace, const std::string& newcomer) {
  if ((replace == 0) != newcomer.empty()) {
    return absl::InvalidArgumentError(
        "replace, newcomer: give both, to replace an owner, or neither");
  }
  if (replace == 0) return Replacement{};
  HEFT_ASSIGN_OR_RETURN(const SignerKey signer, ParseSignerKey(newcomer));
  return Replacement{replace, signer};
}

}  // namespace

OptionReader OwnersAnd(const heft_options* options, OwnerSet* owners) {
  std::vector<double> numbers;
  OptionReader read(options);
  read.Numbers("owners", &numbers);
  for (const double number : numbers) {
    // A number that is none becomes 0, which no owner has.
    const bool whole = number >= 1 && number <= 1000 && number == static_cast<uint32_t>(number);
    owners->push_back(whole ? static_cast<uint32_t>(number) : 0);
  }
  return read;
}

std::vector<ReplyFile> ReplyFilesOf(const heft_files* files) {
  std::vector<ReplyFile> out;
  for (const SampleFile& file : files->files) out.push_back({file.bytes, file.name});
  return out;
}

absl::StatusOr<std::vector<ReplyFile>> GivenParts(const heft_files* parts) {
  if (parts == nullptr) return std::vector<ReplyFile>();
  HEFT_RETURN_IF_ERROR(Given(parts, "parts"));
  return ReplyFilesOf(parts);
}

}  // namespace heft::c

using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::Span;

heft_status heft_shared_key_set_make(const heft_model* model, const char* folder, uint32_t owners,
                                     uint32_t threshold, const heft_bytes* passphrases,
                                     size_t given, heft_monitor monitor, void* user,
                                     heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", folder, "folder", result, "result"));
    if (given > 0) HEFT_RETURN_IF_ERROR(Given(passphrases, "passphrases"));
    std::vector<heft::PassphraseSource> sources;
    for (size_t i = 0; i < given; ++i) {
      HEFT_ASSIGN_OR_RETURN(auto asked, heft::c::AsSource(passphrases[i]));
      sources.push_back(std::move(asked));
    }
    HEFT_ASSIGN_OR_RETURN(const heft::SharedKeySet set,
                          heft::MakeSharedKeySet(model->model, folder, owners, threshold, sources,
                                                 AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(set));
    return absl::OkStatus();
  });
}

heft_status heft_key_set_join(const heft_model* model, const char* folder, uint32_t owners,
                              const char* const* messages, size_t count, heft_bytes passphrase,
                              heft_monitor monitor, void* user, heft_result** result,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", folder, "folder", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    if (count > 0) HEFT_RETURN_IF_ERROR(Given(messages, "messages"));
    std::vector<std::string> paths;
    for (size_t i = 0; i < count; ++i) {
      HEFT_RETURN_IF_ERROR(Given(messages[i], "messages"));
      paths.emplace_back(messages[i]);
    }
    HEFT_ASSIGN_OR_RETURN(
        const heft::JoinStep step,
        heft::JoinKeySet(model->model, folder, owners, paths, asked, AsMonitor(monitor, user)));
    *result = new heft_result(heft::c::RecordJson(step));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_check_ceremony(const heft_key_owner* owner, const char* folder,
                                          heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", folder, "folder", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::CeremonyCheck check,
                          heft::CheckCeremony(owner->owner, folder));
    *result = new heft_result(heft::c::RecordJson(check));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_give_shares(const heft_key_owner* owner, const heft_options* options,
                                       heft_buffer** message, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", message, "message"));
    heft::OwnerSet owners;
    uint32_t replace = 0;
    std::string newcomer;
    heft::c::OptionReader read = heft::c::OwnersAnd(options, &owners);
    read.Integer("replace", &replace).Text("newcomer", &newcomer);
    HEFT_RETURN_IF_ERROR(read.Finish());
    HEFT_ASSIGN_OR_RETURN(const heft::Replacement replacement,
                          heft::c::ReplacementOf(replace, newcomer));
    HEFT_ASSIGN_OR_RETURN(auto bytes, heft::GiveNewShares(owner->owner, owners, replacement));
    *message = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_take_share(const heft_key_owner* owner, const heft_files* messages,
                                      const char* path, heft_bytes passphrase, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", messages, "messages", path, "path"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    return heft::TakeNewShare(owner->owner, heft::c::ReplyFilesOf(messages), path, asked);
  });
}

heft_status heft_blank_share_make(const heft_model* model, heft_bytes record, uint32_t owner,
                                  const char* path, heft_bytes passphrase, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", record, "record", path, "path", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey signer,
                          heft::MakeBlankShare(model->model, Span(record), owner, path, asked));
    *result = new heft_result(heft::Json({{"signer", heft::c::Hex(signer)}}));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_give_rekeying_part(const heft_key_owner* old, const heft_key_owner* next,
                                              const heft_options* options, const char* path,
                                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(old, "old", next, "next", path, "path"));
    heft::OwnerSet owners;
    HEFT_RETURN_IF_ERROR(heft::c::OwnersAnd(options, &owners).Finish());
    return heft::GiveRekeyingPart(old->owner, next->owner, owners, path);
  });
}

heft_status heft_key_owner_combine_rekeying_key(const heft_key_owner* old,
                                                const heft_key_owner* next, const heft_files* parts,
                                                const char* path, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(old, "old", next, "next", parts, "parts", path, "path"));
    return heft::CombineRekeyingKey(old->owner, next->owner, heft::c::ReplyFilesOf(parts), path);
  });
}
