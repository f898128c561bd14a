// SPDX-License-Identifier: Apache-2.0
// POST /v1/decisions: turns a reply that a matcher signed, or one from each bucket of a gallery,
// into a signed decision. GET /v1/keys: the keys that check it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "heft/gallery.h"
#include "heft/shards.h"
#include "service/access/jwt.h"
#include "service/access/relying.h"
#include "service/decider/routes.h"
#include "service/json.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxReply = uint64_t{1} << 28;    // of one gallery, or one bucket
constexpr uint64_t kMaxReplies = uint64_t{1} << 30;  // of all buckets
constexpr char kDecisions[] = "heft_decider_decisions_total";

// Asked: one reply, or those of all buckets of a gallery, with what they state.
struct Asked {
  std::vector<std::string> names;  // of `replies`, for errors
  std::vector<ReplyFile> replies;
  std::vector<Statement> statements;  // not checked before KeyOwner::Decide
  const GalleryRule* rule = nullptr;
  Digest digest{};  // of statements and signatures, in any order
  Relying relying;  // the party and challenge of the decision
};

absl::StatusOr<std::vector<std::span<const uint8_t>>> ReadBodies(const HttpRequest& request) {
  if (!IsForm(request)) return std::vector{request.bytes()};
  HEFT_ASSIGN_OR_RETURN(const std::vector<Part> parts, ReadParts(request, kMaxBuckets));
  std::vector<std::span<const uint8_t>> out;
  for (const Part& part : parts) {
    if (part.name != "reply") {
      return absl::InvalidArgumentError(
          absl::StrCat("a part \"", part.name, "\": each is a \"reply\", one of each bucket"));
    }
    out.push_back(part.bytes);
  }
  return out;
}

absl::StatusOr<Asked> ReadAsked(const DeciderState& state, const HttpRequest& request) {
  Asked asked;
  HEFT_ASSIGN_OR_RETURN(asked.relying, ReadRelying(request));
  HEFT_ASSIGN_OR_RETURN(const auto bodies, ReadBodies(request));
  std::vector<Digest> digests;
  for (size_t i = 0; i < bodies.size(); ++i) {
    asked.names.push_back(bodies.size() == 1 ? "the reply" : absl::StrCat("reply ", i));
    if (bodies[i].size() > kMaxReply) {
      return absl::InvalidArgumentError(
          absl::StrCat(asked.names[i], " has ", bodies[i].size(), " bytes, and more than ",
                       kMaxReply, " are not opened: divide the gallery into more buckets"));
    }
    // KeyOwner::Decide checks the signature, before anything is opened.
    HEFT_ASSIGN_OR_RETURN(Claimed claimed, ReadClaimed(bodies[i], asked.names[i]));
    asked.statements.push_back(std::move(claimed.statement));
    digests.push_back(claimed.digest);
  }
  for (size_t i = 0; i < bodies.size(); ++i) asked.replies.push_back({bodies[i], asked.names[i]});
  HEFT_ASSIGN_OR_RETURN(asked.rule, state.Rule(asked.statements[0].gallery));
  if (!asked.rule->shards && bodies.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(asked.rule->name,
                     ": not a gallery in buckets, so send one reply at a time; for buckets its "
                     "[[gallery]] needs `shards`"));
  }
  std::ranges::sort(digests);
  std::vector<uint8_t> all;
  for (const Digest& one : digests) all.insert(all.end(), one.begin(), one.end());
  asked.digest = digests.size() == 1 ? digests[0] : HashBytes(all);
  return asked;
}

std::string IdOf(const Asked& asked) { return HexString(std::span(asked.digest).first(16)); }

// GalleryOf: the gallery as a whole, as relying parties know it.
GalleryId GalleryOf(const Asked& asked) {
  return asked.rule->shards ? asked.rule->shards->Id() : asked.statements[0].gallery;
}

// AddGenerations: the generation of the gallery that answered, or of each of its buckets.
void AddGenerations(const Asked& asked, const Decision& decision, Json* json) {
  if (!asked.rule->shards || decision.kind == ScoreKind::kVerification) {
    (*json)["generation"] = asked.statements[0].generation;
    return;
  }
  std::vector<uint64_t> generations(asked.rule->shards->size());
  for (const Statement& statement : asked.statements) {
    generations[*asked.rule->shards->Find(statement.gallery)] = statement.generation;
  }
  (*json)["generations"] = generations;
}

Json RateOfRule(const ChosenThreshold& at) {
  Json json;
  json[at.of == RateOf::kSearches ? "fpir" : "fmr"] = at.rate;
  return json;
}

// Claims: the signed content: the decision without the scores behind it, and the audience and
// challenge of the request. A relying party can detect a decision that was made for another party
// or an earlier request. A reply that the key owner refuses becomes an ordinary rejection: its
// matcher may have lied, and must not learn that this was detected, nor how.
Json Claims(const DeciderState& state, const Asked& asked, const Decision& decision, uint64_t now) {
  Json json = {{"iss", state.config.issuer},
               {"aud", asked.relying.audience},
               {"azp", asked.relying.principal},
               {"nonce", asked.relying.nonce},
               {"iat", now},
               {"exp", now + static_cast<uint64_t>(state.config.life.count())},
               {"jti", IdOf(asked)}};
  if (!asked.relying.challenge.empty()) json["challenge"] = asked.relying.challenge;
  json.update(RecordJson(decision));
  for (const char* hidden : {"refusal", "threshold", "key_warning"}) json.erase(hidden);
  json["rule"] = RateOfRule(decision.threshold);
  json["gallery_name"] = asked.rule->name;
  AddGenerations(asked, decision, &json);
  json["request"] = HexString(asked.statements[0].request);
  json["key"] = HexString(state.owner.key_id());
  return json;
}

// OpenTogether decides, if the key is shared with the fellows, who are the `owners` then.
absl::StatusOr<Decision> OpenTogether(const DeciderState& state, const Asked& asked,
                                      const DecisionRule& rule, const HttpRequest& request,
                                      OwnerSet* owners) {
  Replies replies = {asked.replies, asked.rule->shards ? &*asked.rule->shards : nullptr};
  if (!state.fellows) return state.owner.Decide(replies, rule);
  PartQuestion question = {.terms = RuleTerms(*asked.rule, state.config.likelihood),
                           .digest = asked.digest,
                           .request_id = request.id,
                           .deadline = request.deadline,
                           .owners = owners};
  for (const ReplyFile& reply : asked.replies) {
    question.files.push_back(
        {"reply", "", std::string(kHeftType), {reply.bytes.begin(), reply.bytes.end()}});
  }
  const PartSource source = state.fellows->SourceFor(std::move(question));
  replies.source = &source;
  return state.owner.Decide(replies, rule);
}

// Decide opens all replies as one question, which is charged and can be asked once. Returns the
// claims, which must be kept before any other step. The intent is recorded first: if that fails,
// nothing is opened.
absl::StatusOr<std::string> Decide(DeciderService* service, const DeciderState& state,
                                   const Asked& asked, const HttpRequest& request) {
  const DecisionRule rule = RuleOf(*asked.rule, state.config.likelihood);
  if (!rule.fmr && !rule.fpir) {
    return absl::FailedPreconditionError(absl::StrCat(
        asked.rule->name, ": its [[gallery]] has neither fpir nor fmr, so decisions are refused"));
  }
  Json intent = Recorded("intent", request);
  intent["operation"] = "decide";
  intent["jti"] = IdOf(asked);
  intent["gallery_id"] = HexString(GalleryOf(asked));
  HEFT_RETURN_IF_ERROR(service->base->audit_log().Append(std::move(intent)));
  OwnerSet owners;
  HEFT_ASSIGN_OR_RETURN(const Decision decision,
                        OpenTogether(state, asked, rule, request, &owners));
  if (!decision.refusal.empty()) {
    LogLine(LogLevel::kWarning, "a reply is refused, and answered as a rejection",
            {{"request", request.id}, {"gallery", asked.rule->name}, {"why", decision.refusal}});
  }
  if (!decision.refusal.empty() && state.fellows) state.fellows->Doubt(owners);
  const Json claims = Claims(state, asked, decision, UnixTime());
  service->base->metrics().Add(kDecisions, {{"gallery", asked.rule->name},
                                            {"kind", claims["kind"].get<std::string>()},
                                            {"decision", !decision.refusal.empty() ? "refused"
                                                         : decision.accepted       ? "accept"
                                                                                   : "reject"}});
  return claims.dump();
}

// Finish signs the claims and records the decision; it can be repeated. Returns a JSON object with
// the claims and, as "jws", the signed form.
absl::StatusOr<std::string> Finish(DeciderService* service, const DeciderState& state,
                                   const std::string& decided, const HttpRequest& request) {
  Json claims = Json::parse(decided);
  HEFT_ASSIGN_OR_RETURN(std::string jws, state.decision_key.Sign(claims));
  Json line = Recorded("decision", request);
  for (const char* name : {"jti", "aud", "gallery_id", "generation", "generations", "kind",
                           "claimed", "accepted", "identity"}) {
    if (claims.contains(name)) line[name] = claims[name];
  }
  HEFT_RETURN_IF_ERROR(service->base->audit_log().Append(std::move(line)));
  claims["jws"] = std::move(jws);
  return claims.dump();
}

// RecordRefusal: records the caller and the reason. If that fails, the request is refused all the
// same. `jti`: as the request claims it; its signature may be false.
void RecordRefusal(DeciderService* service, const HttpRequest& request, const std::string& jti,
                   const absl::Status& status) {
  Json line = Recorded("decision", request);
  if (!jti.empty()) line["jti"] = jti;
  line["refused"] = absl::StatusCodeToString(status.code());
  (void)service->base->audit_log().Append(std::move(line));
  service->base->metrics().Add(kDecisions, {{"gallery", ""}, {"kind", ""}, {"decision", "error"}});
}

// AddHead: the end of the journal, with this opening in it, for the matcher to keep. It is the
// newest also if the answer itself is a stored one.
absl::Status AddHead(const DeciderState& state, HttpResponse* response) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> head, state.owner.SignedHead());
  if (!head.empty()) response->headers.emplace_back(kJournalHeadHeader, Base64(head));
  return absl::OkStatus();
}

HttpResponse PostDecision(DeciderService* service, const HttpRequest& request) {
  if (!IsForm(request)) {
    if (auto refused = RefuseOther(request)) return *std::move(refused);
  }
  const std::shared_ptr<const DeciderState> state = service->state();
  const auto asked = ReadAsked(*state, request);
  if (!asked.ok()) {
    RecordRefusal(service, request, "", asked.status());
    return ErrorResponse(asked.status());
  }
  const auto answer = service->answers->Once(
      asked->digest, absl::StrCat(request.who.name, "\n", asked->relying.Key()), UnixTime(),
      [&] { return Decide(service, *state, *asked, request); },
      [&](const std::string& decided) { return Finish(service, *state, decided, request); });
  if (!answer.ok()) {
    RecordRefusal(service, request, IdOf(*asked), answer.status());
    return RefusalOf(answer.status());
  }
  HttpResponse response;
  if (request.Header("accept") == "application/jwt") {
    const std::string jws = Json::parse(*answer)["jws"].get<std::string>();
    response = BytesResponse({jws.begin(), jws.end()}, "application/jwt");
  } else {
    response = BytesResponse({answer->begin(), answer->end()}, "application/json");
  }
  const absl::Status added = AddHead(*state, &response);
  return added.ok() ? response : ErrorResponse(added);  // the stored answer is there on a retry
}

}  // namespace

DecisionRule RuleOf(const GalleryRule& rule, bool likelihood) {
  return {.fmr = rule.fmr, .fpir = rule.fpir, .likelihood = likelihood};
}

Json RuleTerms(const GalleryRule& rule, bool likelihood) {
  Json terms = {{"question", "decision"}, {"likelihood", likelihood}};
  if (rule.fpir) terms["fpir"] = *rule.fpir;
  if (rule.fmr) terms["fmr"] = *rule.fmr;
  return terms;
}

HttpResponse RefusalOf(const absl::Status& status) {
  HttpResponse response = ErrorResponse(status);
  if (absl::IsResourceExhausted(status)) {
    std::erase_if(response.headers, [](const auto& one) { return one.first == "Retry-After"; });
  }
  return response;
}

void AddDecisionRoutes(DeciderService* service, Router* router) {
  router->Add({.method = "POST",
               .pattern = "/v1/decisions",
               .operation = "decide",
               .scope = Scope::kDecide,
               .handler = [=](const HttpRequest& r) { return PostDecision(service, r); },
               .most_bytes = kMaxReplies,
               .signed_request = true});
  router->Add({.method = "GET",
               .pattern = "/v1/keys",
               .operation = "readDecisionKeys",
               .scope = Scope::kPublic,
               .handler = [=](const HttpRequest&) {
                 HttpResponse response = JsonResponse(service->state()->decision_key.jwks());
                 response.content_type = "application/jwk-set+json";
                 return response;
               }});
}

}  // namespace heft::service
