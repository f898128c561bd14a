// SPDX-License-Identifier: Apache-2.0
// Admission to a gallery: a matcher asks at /v1/exchange/admissions, and a person decides at
// /v1/admissions.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "service/decider/routes.h"
#include "service/json.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxRequest = uint64_t{1} << 28;
constexpr size_t kMaxListed = 200, kMaxNames = 50;
constexpr char kAdmissions[] = "heft_decider_admissions_total";
constexpr size_t kPart = 16 << 10;  // bytes of a line's verdicts; the longest one has less

// Verdicts: pairs of a list's name and an entry for it.
using Verdicts = std::vector<std::pair<const char*, Json>>;

// Record: writes as many lines as needed, because a backlog has any length and a line of the audit
// log is limited. The lines of one request share its id. They are on the disk when it returns.
absl::Status Record(DeciderService* service, const Json& head, Verdicts verdicts) {
  Json line = head;
  size_t bytes = 0;
  for (auto& [list, entry] : verdicts) {
    const size_t more = entry.dump(-1, ' ', false, Json::error_handler_t::replace).size();
    if (bytes > 0 && bytes + more > kPart) {
      HEFT_RETURN_IF_ERROR(service->base->audit_log().Append(std::exchange(line, head)));
      bytes = 0;
    }
    line[list].push_back(std::move(entry));
    bytes += more;
  }
  return service->base->audit_log().Append(std::move(line));
}

// SayUnsound: logs what to do about unsound templates. The measured norms stay out of the log and
// the audit log: their readers may not see a template's norm.
void SayUnsound(const GalleryRule& rule, const Admissions& done) {
  for (const Admissions::Group& group : done.groups) {
    if (group.rejection != Rejection::kUnsound) continue;
    LogLine(LogLevel::kWarning, "templates are rejected as unsound",
            {{"gallery", rule.name},
             {"rejected", group.identities.size()},
             {"templates", done.verdicts.size()},
             {"remedy", group.remedy}});
  }
}

// ApproveTogether approves, if the key is shared with the fellows. They open no proofs but those
// that this owner opens.
absl::StatusOr<Admissions> ApproveTogether(const DeciderState& state, const HttpRequest& request,
                                           const AdmissionInquiry& inquiry,
                                           const ApprovalPolicy& policy) {
  if (!state.fellows) return state.owner.Approve(request.bytes(), "the request", policy);
  const std::vector<uint8_t> file(request.bytes().begin(), request.bytes().end());
  Json terms = {{"question", "admission"}, {"hold", Json::array()}};
  for (const AdmissionInquiry::Enrolment& one : inquiry.enrolments) {
    const bool decided =
        policy.entries.empty() || std::ranges::count(policy.entries, one.entry) > 0;
    if (!decided || std::ranges::count(policy.hold, one.entry) > 0) {
      terms["hold"].push_back(HexString(one.entry));
    }
  }
  const PartSource source =
      state.fellows->SourceFor({.terms = std::move(terms),
                                .files = {{"request", "", std::string(kHeftType), file}},
                                .digest = HashBytes(file),
                                .request_id = request.id,
                                .may_take_long = true,
                                .deadline = request.deadline});
  return state.owner.Approve(request.bytes(), "the request", policy, source);
}

// Sign: the signed verdicts, after they are recorded. A person decides contested identities.
absl::StatusOr<std::vector<uint8_t>> Sign(DeciderService* service, const DeciderState& state,
                                          const HttpRequest& request,
                                          const AdmissionInquiry& inquiry, ApprovalPolicy policy) {
  const GalleryId& gallery = inquiry.gallery_id;
  const GalleryRule& rule = **state.Rule(gallery);
  policy.new_identities_only = rule.new_identities_only;
  if (rule.shards) policy.shards = *rule.shards;
  HEFT_ASSIGN_OR_RETURN(const Admissions done, ApproveTogether(state, request, inquiry, policy));
  if (rule.automatic && !done.contested.empty()) {
    HEFT_RETURN_IF_ERROR(service->queue->Hold(inquiry, done.contested, UnixTime()));
  }
  Verdicts verdicts;
  double approved = 0;
  for (const Admissions::Verdict& verdict : done.verdicts) {
    if (verdict.approved) {
      ++approved;
      verdicts.emplace_back("approved", verdict.identity);
    } else {
      verdicts.emplace_back("rejected", Json{{"identity", verdict.identity},
                                             {"rejection", RejectionName(verdict.rejection)}});
    }
  }
  if (!verdicts.empty()) {
    Json line = Recorded("admission", request);
    line["gallery_id"] = HexString(gallery);
    HEFT_RETURN_IF_ERROR(Record(service, line, std::move(verdicts)));
  }
  SayUnsound(rule, done);
  Metrics& metrics = service->base->metrics();
  metrics.Add(kAdmissions, {{"gallery", rule.name}, {"verdict", "approved"}}, approved);
  metrics.Add(kAdmissions, {{"gallery", rule.name}, {"verdict", "rejected"}},
              static_cast<double>(done.verdicts.size()) - approved);
  return done.signed_admission;
}

// QuestionOf: the content of a request and the verdicts of people: what an admission depends on,
// besides the state of the decider. A matcher that posts a request again has no proof opened again.
absl::StatusOr<Digest> QuestionOf(const HttpRequest& request, const ApprovalPolicy& policy) {
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(request.bytes(), "the request"));
  std::string text = HexString(HashBytes(file.file));
  for (const auto* entries : {&policy.entries, &policy.reject_entries, &policy.hold}) {
    absl::StrAppend(&text, "\n");
    for (const Digest& entry : *entries) absl::StrAppend(&text, HexString(entry));
  }
  return HashBytes(AsBytes(text));
}

// Exchange: the signed admission, or 202 while a person has yet to decide.
absl::StatusOr<HttpResponse> Exchange(DeciderService* service, const HttpRequest& request) {
  const std::shared_ptr<const DeciderState> state = service->state();
  HEFT_ASSIGN_OR_RETURN(const AdmissionInquiry inquiry,
                        state->owner.ReadInquiry(request.bytes(), "the request"));
  HEFT_ASSIGN_OR_RETURN(const GalleryRule* const rule, state->Rule(inquiry.gallery_id));
  HEFT_ASSIGN_OR_RETURN(ApprovalPolicy policy, rule->automatic
                                                   ? service->queue->OfferHeld(inquiry, UnixTime())
                                                   : service->queue->Offer(inquiry, UnixTime()));
  // If no enrolment is pending, only the state of the gallery is signed; with automatic admission
  // also if all that are pending wait for a person.
  const bool nothing_to_decide =
      policy.entries.empty() &&
      (!rule->automatic || (policy.hold.size() == inquiry.enrolments.size() &&
                            service->HasSigned(inquiry.gallery_id, inquiry.generation)));
  if (nothing_to_decide && !inquiry.enrolments.empty()) {
    return JsonResponse({{"status", "pending"},
                         {"gallery", HexString(inquiry.gallery_id)},
                         {"enrolments", inquiry.enrolments.size()}},
                        202);
  }
  HEFT_ASSIGN_OR_RETURN(const Digest question, QuestionOf(request, policy));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                        state->admissions->Once(question, {}, UnixTime(), [&] {
                          return Sign(service, *state, request, inquiry, policy);
                        }));
  service->NoteSigned(inquiry.gallery_id, inquiry.generation);
  return BytesResponse(std::move(bytes), std::string(kHeftType));
}

HttpResponse PostExchange(DeciderService* service, const HttpRequest& request) {
  if (auto refused = RefuseOther(request)) return *std::move(refused);
  auto response = Exchange(service, request);
  return response.ok() ? *std::move(response) : ErrorResponse(response.status());
}

Json Describe(const DeciderState& state, const PendingEntry& pending) {
  const auto rule = state.Rule(pending.gallery);
  Json people = Json::array();
  for (const auto& person : pending.enrolment.people) {
    if (people.size() == kMaxNames) break;
    people.push_back(
        {{"identity", person.identity}, {"enrolled", person.known}, {"others", person.others}});
  }
  return {{"entry", HexString(pending.enrolment.entry)},
          {"gallery", HexString(pending.gallery)},
          {"gallery_name", rule.ok() ? (*rule)->FullName() : ""},
          {"received", TimeJson(pending.received)},
          {"authorised", pending.enrolment.authorised},
          {"client", pending.enrolment.client},
          {"size", pending.enrolment.people.size()},
          {"people", std::move(people)}};
}

// A cursor is the start of the next page. The queue may change between pages, so a page may miss or
// repeat an entry; a decision on an entry that is gone returns an error.
HttpResponse List(DeciderService* service, const HttpRequest& request) {
  size_t from = 0, count = 50;
  if (!request.Query("cursor").empty() && !absl::SimpleAtoi(request.Query("cursor"), &from)) {
    return ErrorResponse(400, "INVALID_ARGUMENT", "cursor: that of a page before");
  }
  if (!request.Query("count").empty() &&
      (!absl::SimpleAtoi(request.Query("count"), &count) || count == 0 || count > kMaxListed)) {
    return ErrorResponse(400, "INVALID_ARGUMENT", "count: from 1 to 200");
  }
  const std::shared_ptr<const DeciderState> state = service->state();
  const std::vector<PendingEntry> all = service->queue->List();
  Json out = {
      {"total", all.size()}, {"more", service->queue->more()}, {"admissions", Json::array()}};
  const size_t end = std::min(all.size(), std::min(from, all.size()) + count);
  for (size_t i = from; i < end; ++i) out["admissions"].push_back(Describe(*state, all[i]));
  if (end < all.size()) out["next"] = std::to_string(end);
  return JsonResponse(out);
}

absl::StatusOr<std::vector<Digest>> ReadEntries(const Json& body, const char* name) {
  std::vector<Digest> out;
  if (!body.contains(name)) return out;
  const absl::Status wrong =
      absl::InvalidArgumentError(absl::StrCat(name, ": an array of entries as the list has them"));
  if (!body[name].is_array()) return wrong;
  for (const Json& entry : body[name]) {
    if (!entry.is_string()) return wrong;
    HEFT_ASSIGN_OR_RETURN(const Digest digest, DigestOfHex(entry.get<std::string>()));
    out.push_back(digest);
  }
  return out;
}

absl::StatusOr<HttpResponse> DecideAdmissions(DeciderService* service, const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const GalleryId gallery, ParseGalleryId(request.Parameter("gallery")));
  HEFT_ASSIGN_OR_RETURN(const Json body, ReadJson(request));
  if (!body.is_object()) return absl::InvalidArgumentError("a JSON object is expected");
  for (const auto& [name, value] : body.items()) {
    if (name == "approve" || name == "reject") continue;
    return absl::InvalidArgumentError(absl::StrCat(name, ": neither approve nor reject"));
  }
  HEFT_ASSIGN_OR_RETURN(const auto approve, ReadEntries(body, "approve"));
  HEFT_ASSIGN_OR_RETURN(const auto reject, ReadEntries(body, "reject"));
  // Recorded before it takes effect: a verdict that cannot be recorded is not given.
  Json line = Recorded("admission-word", request);
  line["gallery_id"] = HexString(gallery);
  Verdicts words;
  for (const Digest& entry : approve) words.emplace_back("approve", HexString(entry));
  for (const Digest& entry : reject) words.emplace_back("reject", HexString(entry));
  HEFT_RETURN_IF_ERROR(Record(service, line, std::move(words)));
  HEFT_RETURN_IF_ERROR(service->queue->Decide(gallery, approve, reject, request.who.name));
  return JsonResponse({{"approved", approve.size()},
                       {"rejected", reject.size()},
                       {"pending", service->queue->size()}});
}

}  // namespace

void AddAdmissionRoutes(DeciderService* service, Router* router) {
  router->Add({.method = "POST",
               .pattern = "/v1/exchange/admissions",
               .operation = "exchangeAdmission",
               .scope = Scope::kExchange,
               .handler = [=](const HttpRequest& r) { return PostExchange(service, r); },
               .most_bytes = kMaxRequest,
               .signed_request = true});
  router->Add({.method = "GET",
               .pattern = "/v1/admissions",
               .operation = "listAdmissions",
               .scope = Scope::kReadAdmissions,
               .handler = [=](const HttpRequest& r) { return List(service, r); }});
  router->Add({.method = "POST",
               .pattern = "/v1/admissions/{gallery}",
               .operation = "decideAdmissions",
               .scope = Scope::kApprove,
               .handler =
                   [=](const HttpRequest& r) {
                     auto response = DecideAdmissions(service, r);
                     return response.ok() ? *std::move(response) : ErrorResponse(response.status());
                   },
               .most_bytes = 1 << 20,
               .signed_request = true,
               .audited = true});
}

}  // namespace heft::service
