// SPDX-License-Identifier: Apache-2.0
// Shared keys: the ceremony, and new shares.
#include <algorithm>
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
using heft::c::AsSource;
using heft::c::Call;
using heft::c::Given;
using heft::c::Span;

heft_status heft_shared_key_set_make(const heft_model* model, const char* folder, uint32_t owners,
                                     uint32_t threshold, const heft_bytes* passphrases,
                                     heft_monitor monitor, void* user, heft_result** result,
                                     heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", folder, "folder", result, "result"));
    std::vector<heft::PassphraseSource> sources;
    // No more of them are read than a key may have owners.
    const uint32_t given = passphrases == nullptr ? 0 : std::min<uint32_t>(owners, 5);
    for (uint32_t i = 0; i < given; ++i) {
      HEFT_RETURN_IF_ERROR(Given(passphrases[i], "passphrases"));
      sources.push_back(AsSource(passphrases[i]));
    }
    HEFT_ASSIGN_OR_RETURN(const heft::SharedKeySet set,
                          heft::MakeSharedKeySet(model->model, folder, owners, threshold, sources,
                                                 AsMonitor(monitor, user)));
    *result = new heft_result(SharedKeySetJson(set));
    return absl::OkStatus();
  });
}

heft_status heft_key_set_join(const heft_model* model, const char* folder, uint32_t owners,
                              const char* const* messages, size_t count, heft_bytes passphrase,
                              heft_monitor monitor, void* user, heft_result** result,
                              heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(model, "model", folder, "folder", passphrase, "passphrase", result, "result"));
    if (count > 0) HEFT_RETURN_IF_ERROR(Given(messages, "messages"));
    std::vector<std::string> paths;
    for (size_t i = 0; i < count; ++i) {
      HEFT_RETURN_IF_ERROR(Given(messages[i], "messages"));
      paths.emplace_back(messages[i]);
    }
    HEFT_ASSIGN_OR_RETURN(const heft::JoinStep step,
                          heft::JoinKeySet(model->model, folder, owners, paths,
                                           AsSource(passphrase), AsMonitor(monitor, user)));
    *result = new heft_result(JoinStepJson(step));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_check_ceremony(const heft_key_owner* owner, const char* folder,
                                          heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", folder, "folder", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::CeremonyCheck check,
                          heft::CheckCeremony(owner->owner, folder));
    heft::Json json = CeremonyCheckJson(check);
    json["time"] = check.time;  // Unix seconds here, as all times in C
    *result = new heft_result(std::move(json));
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
    HEFT_RETURN_IF_ERROR(
        Given(owner, "owner", messages, "messages", path, "path", passphrase, "passphrase"));
    return heft::TakeNewShare(owner->owner, heft::c::ReplyFilesOf(messages), path,
                              AsSource(passphrase));
  });
}

heft_status heft_blank_share_make(const heft_model* model, heft_bytes record, uint32_t owner,
                                  const char* path, heft_bytes passphrase, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", record, "record", path, "path", passphrase,
                               "passphrase", result, "result"));
    HEFT_ASSIGN_OR_RETURN(
        const heft::SignerKey signer,
        heft::MakeBlankShare(model->model, Span(record), owner, path, AsSource(passphrase)));
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
