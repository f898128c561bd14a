// SPDX-License-Identifier: Apache-2.0
// POST /v1/exchange/parts: this owner's partial openings, for the decider of another owner of the
// shared key. Everything that this owner checks, charges and records for an opening of its own, it
// checks, charges and records here; and it gives a part for the rule of its own configuration
// alone.
#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "heft/shards.h"
#include "service/decider/routes.h"
#include "service/json.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxPartFile = uint64_t{1} << 29;  // of one gallery, or one bucket
constexpr uint64_t kMaxFiles = uint64_t{1} << 30;     // of all buckets
constexpr char kParts[] = "heft_decider_parts_total";

enum class Question { kDecision, kAdmission, kRenewal };
constexpr const char* kQuestions[] = {"decision", "admission", "renewal"};

// AskedPart: a fellow's question.
struct AskedPart {
  OwnerSet owners;
  Question question = Question::kDecision;
  Json terms;
  std::vector<std::string> names;  // of `files`, for errors
  std::vector<ReplyFile> files;
  const GalleryRule* rule = nullptr;
  GalleryId gallery{};
  Digest digest{};  // of statements and signatures, in any order
};

absl::StatusOr<OwnerSet> ReadOwners(const Json& terms) {
  const absl::Status wrong = absl::InvalidArgumentError(
      "owners: an array of the numbers of all owners who open, ascending");
  if (!terms.contains("owners") || !terms["owners"].is_array()) return wrong;
  OwnerSet owners;
  for (const Json& owner : terms["owners"]) {
    if (!owner.is_number_unsigned() || owner.get<uint64_t>() > 255) return wrong;
    owners.push_back(owner.get<uint32_t>());
  }
  return owners;
}

absl::StatusOr<Json> ReadTerms(std::span<const uint8_t> bytes) {
  HEFT_ASSIGN_OR_RETURN(Json terms, ParseJson(bytes));
  if (!terms.is_object()) return absl::InvalidArgumentError("terms: a JSON object");
  for (const auto& [name, value] : terms.items()) {
    const bool known = name == "owners" || name == "question" || name == "fpir" || name == "fmr" ||
                       name == "likelihood" || name == "hold";
    if (!known) return absl::InvalidArgumentError(absl::StrCat("terms: \"", name, "\" is unknown"));
  }
  return terms;
}

absl::Status AddFile(const Part& part, AskedPart* asked) {
  const std::string_view kind = asked->question == Question::kDecision ? "reply" : "request";
  if (part.name != kind) {
    return absl::InvalidArgumentError(absl::StrCat("a part \"", part.name,
                                                   "\": of this question each is a \"",
                                                   std::string(kind), "\", after the terms"));
  }
  if (part.bytes.size() > kMaxPartFile) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a file of ", part.bytes.size(), " bytes: more than ", kMaxPartFile, " are not opened"));
  }
  asked->names.push_back(asked->files.empty()
                             ? absl::StrCat("the ", std::string(kind))
                             : absl::StrCat(std::string(kind), " ", asked->files.size()));
  asked->files.push_back({part.bytes, ""});
  return absl::OkStatus();
}

absl::StatusOr<AskedPart> ReadAskedPart(const DeciderState& state, const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Part> parts, ReadParts(request, kMaxBuckets + 1));
  if (parts.size() < 2 || parts[0].name != "terms") {
    return absl::InvalidArgumentError("the first part is \"terms\", and a file follows");
  }
  AskedPart asked;
  HEFT_ASSIGN_OR_RETURN(asked.terms, ReadTerms(parts[0].bytes));
  HEFT_ASSIGN_OR_RETURN(asked.owners, ReadOwners(asked.terms));
  const std::string question =
      asked.terms.contains("question") && asked.terms["question"].is_string()
          ? asked.terms["question"].get<std::string>()
          : "";
  const auto found = std::ranges::find(kQuestions, question);
  if (found == std::end(kQuestions)) {
    return absl::InvalidArgumentError("question: \"decision\", \"admission\" or \"renewal\"");
  }
  asked.question = static_cast<Question>(found - kQuestions);
  std::vector<Digest> digests;
  for (size_t i = 1; i < parts.size(); ++i) HEFT_RETURN_IF_ERROR(AddFile(parts[i], &asked));
  for (size_t i = 0; i < asked.files.size(); ++i) {
    asked.files[i].what = asked.names[i];
    // The signature is checked when it is opened.
    HEFT_ASSIGN_OR_RETURN(const Claimed claimed, ReadClaimed(asked.files[i].bytes, asked.names[i]));
    digests.push_back(claimed.digest);
    if (i == 0) asked.gallery = claimed.statement.gallery;
  }
  HEFT_ASSIGN_OR_RETURN(asked.rule, state.Rule(asked.gallery));
  if ((asked.question != Question::kDecision || !asked.rule->shards) && asked.files.size() > 1) {
    return absl::FailedPreconditionError(
        "several files, which are replies of a gallery in buckets alone");
  }
  std::ranges::sort(digests);
  std::vector<uint8_t> all;
  for (const Digest& one : digests) all.insert(all.end(), one.begin(), one.end());
  asked.digest = HashBytes(all);
  return asked;
}

// CheckAsker: a fellow asks for sets of owners that it and this owner are in, and for no other.
absl::Status CheckAsker(const DeciderState& state, const HttpRequest& request,
                        const AskedPart& asked) {
  const uint32_t asker = state.fellows ? state.fellows->OwnerOf(request.who.name) : 0;
  if (asker == 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "no [[fellow]] of this decider's configuration has the name \"", request.who.name, "\""));
  }
  if (std::ranges::count(asked.owners, asker) == 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("owner ", asker, " asks for partial openings for others"));
  }
  return absl::OkStatus();
}

// CheckTerms: the owners must have the same rule, or one of them could decide by another.
absl::Status CheckTerms(const DeciderState& state, const AskedPart& asked) {
  if (asked.question != Question::kDecision) return absl::OkStatus();
  Json own = RuleTerms(*asked.rule, state.config.likelihood), theirs = asked.terms;
  theirs.erase("owners");
  if (own == theirs) return absl::OkStatus();
  own.erase("question");
  theirs.erase("question");
  return absl::FailedPreconditionError(
      absl::StrCat(asked.rule->name, ": the rules of the owners differ (", own.dump(), " here, ",
                   theirs.dump(), " asked): give all deciders the same fpir, fmr and likelihood"));
}

// ReadHold: the enrolments of an admission that wait: their proofs are not opened. A set of them
// has one spelling, or a fellow could have the same proofs opened again under another one.
absl::StatusOr<std::vector<Digest>> ReadHold(const DeciderState& state, const AskedPart& asked) {
  std::vector<Digest> entries;
  if (asked.question != Question::kAdmission) return entries;
  const absl::Status wrong = absl::InvalidArgumentError(
      "hold: an array of pending enrolments of the request, in its order and in lower-case "
      "hexadecimal");
  if (!asked.terms.contains("hold") || !asked.terms["hold"].is_array()) return wrong;
  const Json& hold = asked.terms["hold"];
  HEFT_ASSIGN_OR_RETURN(const AdmissionInquiry inquiry,
                        state.owner.ReadInquiry(asked.files[0].bytes, asked.files[0].what));
  for (const AdmissionInquiry::Enrolment& one : inquiry.enrolments) {
    if (entries.size() == hold.size()) break;
    if (hold[entries.size()] == HexString(one.entry)) entries.push_back(one.entry);
  }
  if (entries.size() < hold.size()) return wrong;
  return entries;
}

absl::StatusOr<std::vector<uint8_t>> MakePart(const DeciderState& state, const AskedPart& asked,
                                              std::vector<Digest> hold) {
  const ShardList* const shards = asked.rule->shards ? &*asked.rule->shards : nullptr;
  if (asked.question == Question::kRenewal) {
    return state.owner.RenewPart(asked.files[0].bytes, asked.files[0].what, asked.owners);
  }
  if (asked.question == Question::kAdmission) {
    ApprovalPolicy policy;
    policy.hold = std::move(hold);
    if (shards != nullptr) policy.shards = *shards;
    return state.owner.ApprovePart(asked.files[0].bytes, asked.files[0].what, asked.owners, policy);
  }
  return state.owner.OpenPart({asked.files, shards}, asked.owners,
                              RuleOf(*asked.rule, state.config.likelihood));
}

// Give: the part, which is recorded before it is made.
absl::StatusOr<std::vector<uint8_t>> Give(DeciderService* service, const DeciderState& state,
                                          const HttpRequest& request, const AskedPart& asked) {
  HEFT_RETURN_IF_ERROR(CheckAsker(state, request, asked));
  HEFT_RETURN_IF_ERROR(CheckTerms(state, asked));
  HEFT_ASSIGN_OR_RETURN(std::vector<Digest> hold, ReadHold(state, asked));
  Json line = Recorded("intent", request);
  line["operation"] = absl::StrCat(kQuestions[static_cast<size_t>(asked.question)], "-part");
  line["files"] = HexString(std::span(asked.digest).first(16));
  line["gallery_id"] = HexString(asked.gallery);
  line["owners"] = asked.owners;
  const std::string file = absl::StrCat(HexString(asked.digest), "\n", request.who.name);
  std::string question =
      absl::StrCat(kQuestions[static_cast<size_t>(asked.question)], Json(asked.owners).dump());
  for (const Digest& entry : hold) absl::StrAppend(&question, "\n", HexString(entry));
  bool fresh = false;
  HEFT_ASSIGN_OR_RETURN(
      std::vector<uint8_t> part,
      service->given.Once(HashBytes(AsBytes(file)), HashBytes(AsBytes(question)), UnixTime(),
                          [&]() -> absl::StatusOr<std::vector<uint8_t>> {
                            fresh = true;
                            HEFT_RETURN_IF_ERROR(service->base->audit_log().Append(line));
                            return MakePart(state, asked, std::move(hold));
                          }));
  line["event"] = "part";
  if (!fresh) line["again"] = true;
  HEFT_RETURN_IF_ERROR(service->base->audit_log().Append(std::move(line)));
  return part;
}

HttpResponse PostPart(DeciderService* service, const HttpRequest& request) {
  const std::shared_ptr<const DeciderState> state = service->state();
  const auto asked = ReadAskedPart(*state, request);
  auto part = asked.ok() ? Give(service, *state, request, *asked)
                         : absl::StatusOr<std::vector<uint8_t>>(asked.status());
  service->base->metrics().Add(kParts, {{"result", part.ok() ? "given" : "refused"}});
  if (part.ok()) return BytesResponse(*std::move(part), std::string(kHeftType));
  Json line = Recorded("part", request);
  line["refused"] = absl::StatusCodeToString(part.status().code());
  (void)service->base->audit_log().Append(std::move(line));
  return RefusalOf(part.status());
}

}  // namespace

void AddPartRoutes(DeciderService* service, Router* router) {
  router->Add({.method = "POST",
               .pattern = kPartsPath,
               .operation = "openPart",
               .scope = Scope::kOpenParts,
               .handler = [=](const HttpRequest& r) { return PostPart(service, r); },
               .most_bytes = kMaxFiles,
               .signed_request = true});
}

}  // namespace heft::service
