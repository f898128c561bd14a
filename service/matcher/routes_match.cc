// SPDX-License-Identifier: Apache-2.0
// identify and verify: encrypted, signed scores, for the caller or for the decider.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/gallery_admin.h"
#include "service/access/jwt.h"
#include "service/json.h"
#include "service/matcher/samples.h"
#include "service/matcher/state.h"

namespace heft::service {
namespace {

constexpr char kJwsType[] = "application/jwt";
// How often a probe is matched if its gallery changes before its reply is opened.
constexpr int kDecisionAttempts = 8;
// Of an answer by a task.
constexpr std::chrono::minutes kTaskDeadline{10};

// Wanted: the form of the answer.
enum class Wanted { kReply, kDecision, kJws };

absl::StatusOr<Wanted> WantedBy(const MatcherState& state, const HttpRequest& request) {
  const std::string accept = absl::AsciiStrToLower(request.Header("accept"));
  if (absl::StrContains(accept, std::string(kHeftType))) return Wanted::kReply;
  const bool any = accept.empty() || absl::StrContains(accept, "*/*");
  if (state.decider == nullptr) {
    if (any) return Wanted::kReply;
    return absl::FailedPreconditionError(absl::StrCat(
        "no decider is configured: ask for the encrypted reply (Accept: ", std::string(kHeftType),
        ")"));
  }
  return absl::StrContains(accept, kJwsType) ? Wanted::kJws : Wanted::kDecision;
}

// Probe: the samples and the gallery of a request.
struct Probe {
  std::string gallery, address;
  std::string claimed;  // verification
  SampleRequest samples;
  ProbeOptions options;
  std::shared_ptr<const Engine> engine;
  IncomingRequest asked;
  std::chrono::steady_clock::time_point deadline;
};

absl::StatusOr<ProbeOptions> OptionsOf(const Json& more) {
  ProbeOptions options;
  HEFT_ASSIGN_OR_RETURN(options.row, NumberOf(more, "row", 0));
  HEFT_ASSIGN_OR_RETURN(options.average, FlagOf(more, "average", false));
  HEFT_ASSIGN_OR_RETURN(options.with_identities, FlagOf(more, "identities", true));
  HEFT_ASSIGN_OR_RETURN(options.relinearise, FlagOf(more, "relinearise", true));
  HEFT_ASSIGN_OR_RETURN(options.where, FilterOf(more, "filter"));
  return options;
}

// ReadProbe: all checks that are possible before a signed request is recorded as taken.
absl::StatusOr<Probe> ReadProbe(MatcherState* state, const HttpRequest& request, bool verify) {
  Probe probe;
  probe.gallery = request.Parameter("gallery");
  probe.deadline = request.deadline;
  HEFT_ASSIGN_OR_RETURN(probe.address, state->galleries.Address(probe.gallery));
  if (verify) {
    probe.claimed = request.Parameter("person");
    HEFT_ASSIGN_OR_RETURN(probe.samples, ReadSampleRequest(request, {"row", "average", "filter"}));
    if (const auto filter = probe.samples.more.find("filter");
        filter != probe.samples.more.end() && !filter->empty()) {
      return absl::InvalidArgumentError(
          "filter: a verification is of one person: it takes no conditions");
    }
    probe.samples.more.erase("filter");
  } else {
    HEFT_ASSIGN_OR_RETURN(probe.samples, ReadSampleRequest(request, {"row", "average", "filter",
                                                                     "identities", "relinearise"}));
  }
  HEFT_ASSIGN_OR_RETURN(probe.options, OptionsOf(probe.samples.more));
  probe.engine = state->engine.Get();
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(probe.gallery).status());
  HEFT_ASSIGN_OR_RETURN(auto signer, state->galleries.Signer());
  HEFT_ASSIGN_OR_RETURN(probe.asked,
                        IncomingRequest::Read(*probe.engine, std::move(signer), probe.samples.files,
                                              RowOf(probe.options)));
  SignerKey& client = probe.asked.request.client;
  if (client == SignerKey{}) client = ClientOf(request.who.name);
  return probe;
}

// SignedReply: a reply, and the generation of its gallery.
struct SignedReply {
  std::vector<uint8_t> bytes;
  uint64_t generation = 0;
};

absl::StatusOr<SignedReply> Sign(const MatcherState& state, const Probe& probe,
                                 const Gallery& gallery, const std::vector<uint8_t>& reply) {
  SignedReply out;
  out.generation = gallery.generation();
  HEFT_ASSIGN_OR_RETURN(out.bytes, probe.asked.Sign(gallery, reply, state.config.reply_life));
  return out;
}

absl::StatusOr<SignedReply> Identify(MatcherState* state, const Probe& probe) {
  BatchProbe batch;
  batch.engine = probe.engine;
  batch.gallery = probe.gallery;
  batch.request = {probe.samples.files, probe.options};
  batch.deadline = probe.deadline;
  HEFT_ASSIGN_OR_RETURN(const Matched matched, state->batcher.Identify(std::move(batch)));
  ShowDamage(probe.gallery, *matched.gallery, state->metrics);
  return Sign(*state, probe, *matched.gallery, matched.reply);
}

absl::StatusOr<SignedReply> Verify(MatcherState* state, const Probe& probe) {
  if (!state->verifications.Take(probe.deadline)) {
    return absl::ResourceExhaustedError("too many verifications are waiting: try again later");
  }
  const Leave leave{&state->verifications};
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, state->galleries.Newest(probe.gallery));
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> reply,
      probe.engine->server.Verify(gallery, probe.samples.files, probe.claimed, probe.options));
  return Sign(*state, probe, gallery, reply);
}

absl::StatusOr<SignedReply> Ask(MatcherState* state, const Probe& probe, bool verify) {
  return verify ? Verify(state, probe) : Identify(state, probe);
}

// BeginProbe: reads a probe and, as the last step before matching, records its request as taken.
absl::StatusOr<Probe> BeginProbe(MatcherState* state, const HttpRequest& request, bool verify) {
  HEFT_ASSIGN_OR_RETURN(Probe probe, ReadProbe(state, request, verify));
  if (verify && !probe.engine->enrols) {
    return absl::FailedPreconditionError(
        "this service has no keys for verification ([keys] enrolment)");
  }
  if (!verify) HEFT_RETURN_IF_ERROR(state->batcher.HasRoom(probe.deadline));
  HEFT_RETURN_IF_ERROR(probe.asked.Take(probe.address));
  return probe;
}

// Decided: the decider's answer to a reply. The gallery may change between reply and opening, and
// the key owner refuses a reply of an older state than the last that it signed: then the probe is
// matched again.
absl::StatusOr<SignedDecision> Decided(MatcherState* state, const HttpRequest& request,
                                       const Probe& probe, bool verify) {
  HEFT_ASSIGN_OR_RETURN(Relying relying, ReadRelying(request));
  const Forwarded of = {probe.gallery, request.id, std::move(relying), request.deadline};
  for (int attempt = 1;; ++attempt) {
    HEFT_ASSIGN_OR_RETURN(const SignedReply reply, Ask(state, probe, verify));
    auto decided = state->decider->Decide(reply.bytes, of);
    if (decided.ok()) state->exchange.TakeHead(probe.gallery, std::move(decided->head));
    if (!absl::IsFailedPrecondition(decided.status()) || attempt == kDecisionAttempts)
      return decided;
    HEFT_ASSIGN_OR_RETURN(const Gallery newest, state->galleries.Newest(probe.gallery));
    if (newest.generation() == reply.generation) return decided;
  }
}

Json DecisionJson(SignedDecision decided) {
  decided.decision["jws"] = std::move(decided.jws);
  return std::move(decided.decision);
}

// Later: starts a task, and calls the callback URL when it has ended.
absl::StatusOr<HttpResponse> Later(MatcherState* state, const HttpRequest& request, bool verify,
                                   Wanted wanted) {
  const std::string url = request.Query("callback");
  const std::string transaction = request.Query("transactionId");
  if (state->callbacks == nullptr) {
    return absl::InvalidArgumentError(
        "callback: this service makes no callbacks ([callbacks] allowed): poll the task instead");
  }
  HEFT_RETURN_IF_ERROR(state->callbacks->Check(url));
  HttpRequest kept = request;
  kept.deadline = std::chrono::steady_clock::now() + kTaskDeadline;
  const auto work = [state, kept, verify, wanted](const Monitor&) -> absl::StatusOr<Json> {
    HEFT_ASSIGN_OR_RETURN(const Probe probe, BeginProbe(state, kept, verify));
    if (wanted != Wanted::kReply) {
      HEFT_ASSIGN_OR_RETURN(SignedDecision decided, Decided(state, kept, probe, verify));
      return DecisionJson(std::move(decided));
    }
    HEFT_ASSIGN_OR_RETURN(const SignedReply reply, Ask(state, probe, verify));
    return Json{{"reply", Base64(reply.bytes)}};
  };
  const auto ended = [callbacks = state->callbacks, url, transaction](const Json& task) {
    callbacks->Call(url, transaction, task);
  };
  HEFT_ASSIGN_OR_RETURN(const std::string task, state->tasks.Start(verify ? "verify" : "identify",
                                                                   request.who, work, ended));
  return Accepted(task);
}

// CheckRelying: before matching. An encrypted reply has no signed audience or challenge.
absl::Status CheckRelying(const HttpRequest& request, Wanted wanted) {
  HEFT_RETURN_IF_ERROR(ReadRelying(request).status());
  const bool named = request.headers.contains(absl::AsciiStrToLower(kAudienceHeader)) ||
                     request.headers.contains(absl::AsciiStrToLower(kChallengeHeader));
  if (wanted != Wanted::kReply || !named) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kAudienceHeader, ", ", kChallengeHeader,
                   ": of a decision; an encrypted reply is given to the decider with them"));
}

absl::StatusOr<HttpResponse> Match(MatcherState* state, const HttpRequest& request, bool verify) {
  const auto wanted = WantedBy(*state, request);
  if (!wanted.ok())
    return ErrorResponse(406, "NOT_ACCEPTABLE", std::string(wanted.status().message()));
  HEFT_RETURN_IF_ERROR(CheckRelying(request, *wanted));
  if (request.query.contains("callback")) return Later(state, request, verify, *wanted);
  HEFT_ASSIGN_OR_RETURN(const Probe probe, BeginProbe(state, request, verify));
  if (*wanted == Wanted::kReply) {
    HEFT_ASSIGN_OR_RETURN(SignedReply reply, Ask(state, probe, verify));
    return BytesResponse(std::move(reply.bytes), std::string(kHeftType));
  }
  HEFT_ASSIGN_OR_RETURN(SignedDecision decided, Decided(state, request, probe, verify));
  if (*wanted == Wanted::kJws) {
    return BytesResponse({decided.jws.begin(), decided.jws.end()}, kJwsType);
  }
  return JsonResponse(DecisionJson(std::move(decided)));
}

}  // namespace

void AddMatchRoutes(MatcherState* state, Router* router) {
  const auto match = [&](const char* pattern, const char* operation, Scope scope, bool verify) {
    Route route = {"POST", pattern, operation, scope, {}};
    route.handler = Answers(state, [state, verify](const HttpRequest& request) {
      return Match(state, request, verify);
    });
    route.most_bytes = state->config.sample_bytes;
    route.signed_request = true;
    route.audited = true;
    router->Add(std::move(route));
  };
  match("/v1/identify/{gallery}", "identify", Scope::kIdentify, false);
  match("/v1/verify/{gallery}/{person}", "verifyFromId", Scope::kVerify, true);
}

}  // namespace heft::service
