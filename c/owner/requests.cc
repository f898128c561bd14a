// SPDX-License-Identifier: Apache-2.0
// The key owner: its trusted signers, and its answers to requests of servers.
#include <algorithm>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "c/owner/parts.h"
#include "c/result.h"
#include "heft/openings.h"

namespace heft::c {
namespace {

Json PeopleJson(const std::vector<CanarySet::Person>& people) {
  Json json = Json::array();
  for (const CanarySet::Person& person : people) {
    Json vectors = Json::array();
    for (const std::vector<float>& vector : person.vectors) vectors.push_back(Json(vector));
    json.push_back(Json::object({{"label", person.label}, {"vectors", std::move(vectors)}}));
  }
  return json;
}

absl::StatusOr<std::vector<Digest>> ParseEntries(const std::vector<std::string>& texts) {
  std::vector<Digest> entries;
  for (const std::string& text : texts) {
    Digest entry{};
    const bool digits =
        text.size() == 2 * entry.size() &&
        std::all_of(text.begin(), text.end(), [](unsigned char c) {
          return std::string_view("0123456789abcdefABCDEF").find(c) != std::string_view::npos;
        });
    if (!digits) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry \"", text, "\": give 64 hexadecimal digits, from an inquiry"));
    }
    const std::string bytes = absl::HexStringToBytes(text);
    std::copy(bytes.begin(), bytes.end(), entry.begin());
    entries.push_back(entry);
  }
  return entries;
}

absl::StatusOr<ApprovalPolicy> ReadPolicy(OptionReader read) {
  ApprovalPolicy policy;
  std::vector<std::string> entries, reject_entries, hold;
  std::string shards;
  read.Texts("only", &policy.only).Texts("reject", &policy.reject);
  read.Flag("new_identities_only", &policy.new_identities_only);
  read.Flag("put_back", &policy.put_back);
  read.Texts("entries", &entries).Texts("reject_entries", &reject_entries);
  read.Texts("hold", &hold);
  read.Text("shards", &shards);
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (!shards.empty()) {
    HEFT_ASSIGN_OR_RETURN(policy.shards, ShardList::Parse(shards, "shards"));
  }
  HEFT_ASSIGN_OR_RETURN(policy.entries, ParseEntries(entries));
  HEFT_ASSIGN_OR_RETURN(policy.reject_entries, ParseEntries(reject_entries));
  HEFT_ASSIGN_OR_RETURN(policy.hold, ParseEntries(hold));
  return policy;
}

// Hand gives a file and, if requested, its description; after an error it gives neither.
void Hand(std::vector<uint8_t> bytes, Json json, heft_buffer** file, heft_result** result) {
  auto buffer = std::make_unique<heft_buffer>(std::move(bytes));
  if (result != nullptr) *result = new heft_result(std::move(json));
  *file = buffer.release();
}

}  // namespace
}  // namespace heft::c

using heft::Json;
using heft::c::Call;
using heft::c::Given;
using heft::c::Hand;
using heft::c::Span;

heft_status heft_key_owner_signer(const heft_key_owner* owner, heft_signing_key** key,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", key, "key"));
    HEFT_ASSIGN_OR_RETURN(heft::SigningKey signer, owner->owner.Signer());
    *key = new heft_signing_key(std::move(signer));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_require_signed(heft_key_owner* owner, const heft_trust* trust,
                                          heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", trust, "trust"));
    return owner->owner.RequireSigned(trust->trust);
  });
}

heft_status heft_key_owner_require_signed_gallery(heft_key_owner* owner, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner"));
    owner->owner.RequireSignedGallery();
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_make_canaries(const heft_key_owner* owner, size_t triples,
                                         const heft_options* options, heft_result** people,
                                         heft_buffer** file, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", people, "people", file, "file"));
    std::vector<std::string> names;
    HEFT_RETURN_IF_ERROR(heft::c::OptionReader(options).Texts("names", &names).Finish());
    HEFT_ASSIGN_OR_RETURN(auto canaries, owner->owner.MakeCanaries(triples, std::move(names)));
    Json modalities = Json::array();
    for (const heft::ModalitySpec& spec : owner->modalities) modalities.push_back(spec.name);
    Hand(std::move(canaries.file),
         Json({{"modalities", std::move(modalities)},
               {"people", heft::c::PeopleJson(canaries.people)},
               {"probes", heft::c::PeopleJson(canaries.probes)}}),
         file, people);
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_require_canaries(heft_key_owner* owner, heft_bytes file,
                                            const char* what, int keep, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", file, "file", what, "what"));
    if (keep != 0) return owner->owner.RegisterCanaries(Span(file), what);
    return owner->owner.RequireCanaries(Span(file), what);
  });
}

heft_status heft_key_owner_inquiry(const heft_key_owner* owner, heft_bytes request,
                                   const char* what, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", request, "request", what, "what", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const auto inquiry, owner->owner.ReadInquiry(Span(request), what));
    *result = new heft_result(heft::c::RecordJson(inquiry));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_approve(const heft_key_owner* owner, heft_bytes request,
                                   const char* what, const heft_options* options,
                                   heft_buffer** admission, heft_result** result,
                                   heft_error** error) {
  return heft_key_owner_approve_parts(owner, request, what, nullptr, options, admission, result,
                                      error);
}

heft_status heft_key_owner_approve_part(const heft_key_owner* owner, heft_bytes request,
                                        const char* what, const heft_options* options,
                                        heft_buffer** part, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", request, "request", what, "what", part, "part"));
    heft::OwnerSet owners;
    HEFT_ASSIGN_OR_RETURN(const auto policy,
                          heft::c::ReadPolicy(heft::c::OwnersAnd(options, &owners)));
    HEFT_ASSIGN_OR_RETURN(auto bytes,
                          owner->owner.ApprovePart(Span(request), what, owners, policy));
    *part = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_approve_parts(const heft_key_owner* owner, heft_bytes request,
                                         const char* what, const heft_files* parts,
                                         const heft_options* options, heft_buffer** admission,
                                         heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(owner, "owner", request, "request", what, "what", admission, "admission"));
    HEFT_ASSIGN_OR_RETURN(const auto policy, heft::c::ReadPolicy(heft::c::OptionReader(options)));
    HEFT_ASSIGN_OR_RETURN(const auto files, heft::c::GivenParts(parts));
    HEFT_ASSIGN_OR_RETURN(auto done, owner->owner.Approve(Span(request), what, policy, files));
    Json json = heft::DescribeAdmissions(done).json;
    json["verdicts"] = heft::c::RecordJson(done.verdicts);
    Hand(std::move(done.signed_admission), std::move(json), admission, result);
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_renew(const heft_key_owner* owner, heft_bytes request, const char* what,
                                 heft_buffer** renewal, heft_result** result, heft_error** error) {
  return heft_key_owner_renew_parts(owner, request, what, nullptr, renewal, result, error);
}

heft_status heft_key_owner_renew_part(const heft_key_owner* owner, heft_bytes request,
                                      const char* what, const heft_options* options,
                                      heft_buffer** part, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", request, "request", what, "what", part, "part"));
    heft::OwnerSet owners;
    HEFT_RETURN_IF_ERROR(heft::c::OwnersAnd(options, &owners).Finish());
    HEFT_ASSIGN_OR_RETURN(auto bytes, owner->owner.RenewPart(Span(request), what, owners));
    *part = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_renew_parts(const heft_key_owner* owner, heft_bytes request,
                                       const char* what, const heft_files* parts,
                                       heft_buffer** renewal, heft_result** result,
                                       heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(owner, "owner", request, "request", what, "what", renewal, "renewal"));
    HEFT_ASSIGN_OR_RETURN(const auto files, heft::c::GivenParts(parts));
    HEFT_ASSIGN_OR_RETURN(auto done, owner->owner.Renew(Span(request), what, files));
    Hand(std::move(done.signed_renewal),
         Json({{"blocks", done.blocks}, {"templates", done.templates}}), renewal, result);
    return absl::OkStatus();
  });
}
