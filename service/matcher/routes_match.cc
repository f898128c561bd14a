// SPDX-License-Identifier: Apache-2.0
// identify and verify: encrypted, signed scores, for the caller or for the decider.
#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "service/access/jwt.h"
#include "service/http/client.h"
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
// How long a probe waits for a place at the nodes: while a node hangs, workers stay free.
constexpr std::chrono::seconds kPlaceWait{1};

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

// Probe: an accepted request, with its engine and gallery.
struct Probe {
  std::string gallery;
  std::shared_ptr<const Engine> engine;
  AcceptedMatch accepted;
  std::chrono::steady_clock::time_point deadline;
  std::string claimed;                // of a gallery in buckets: the person, or empty
  std::optional<ProbeRequest> nodes;  // of a gallery in buckets: the nodes check and accept it
};

// Answer: a signed reply, or a form with those of all buckets.
struct Answer {
  std::string type;
  std::vector<uint8_t> bytes;
  std::optional<uint64_t> generation;  // of one reply
  std::shared_ptr<const Leave> place;  // at the nodes, while the replies are in memory
};

absl::Status ReadOptions(const Json& more, MatchRequest* out) {
  if (more.contains("row")) {
    HEFT_ASSIGN_OR_RETURN(out->row, NumberOf(more, "row", 0));
  }
  HEFT_ASSIGN_OR_RETURN(out->probe.average, FlagOf(more, "average", false));
  HEFT_ASSIGN_OR_RETURN(out->probe.with_identities, FlagOf(more, "identities", true));
  HEFT_ASSIGN_OR_RETURN(out->probe.relinearise, FlagOf(more, "relinearise", true));
  HEFT_ASSIGN_OR_RETURN(out->probe.where, FilterOf(more, "filter"));
  return absl::OkStatus();
}

// OfNodes: the request as a node's SQL takes it.
absl::StatusOr<ProbeRequest> OfNodes(SampleRequest samples, MatchRequest match) {
  if (match.row.value_or(0) != 0 || match.probe.average || !match.probe.relinearise) {
    return absl::InvalidArgumentError(
        "row, average, relinearise: a gallery in buckets does not take them");
  }
  if (match.claimed && !match.probe.where.empty()) {
    return absl::InvalidArgumentError("filter: it restricts a search, not a verification");
  }
  return ProbeRequest{std::move(samples.files), std::move(match.probe)};
}

// AcceptProbe: reads a request and has it accepted.
absl::StatusOr<Probe> AcceptProbe(MatcherState* state, const HttpRequest& request, bool verify) {
  Probe probe = {request.Parameter("gallery"), state->engine.Get(), {}, request.deadline, {}, {}};
  MatchRequest match;
  HEFT_ASSIGN_OR_RETURN(match.gallery, state->galleries.Address(probe.gallery));
  if (verify) match.claimed = request.Parameter("person");
  HEFT_ASSIGN_OR_RETURN(SampleRequest samples,
                        verify ? ReadSampleRequest(request, {"row", "average", "filter"})
                               : ReadSampleRequest(request, {"row", "average", "filter",
                                                             "identities", "relinearise"}));
  HEFT_RETURN_IF_ERROR(ReadOptions(samples.more, &match));
  if (state->bucket_nodes.Has(probe.gallery)) {
    probe.claimed = match.claimed.value_or("");
    HEFT_ASSIGN_OR_RETURN(probe.nodes, OfNodes(std::move(samples), std::move(match)));
    return probe;
  }
  if (verify && !probe.engine->enrols) {
    return absl::FailedPreconditionError(
        "this service has no keys for verification ([keys] enrolment)");
  }
  match.files = std::move(samples.files);
  match.client = ClientOf(request.who.name);
  match.life = state->config.reply_life;
  if (!verify) match.room = [=, at = probe.deadline] { return state->batcher.HasRoom(at); };
  HEFT_ASSIGN_OR_RETURN(probe.accepted,
                        state->galleries.DeskOf(*probe.engine).Accept(std::move(match)));
  return probe;
}

absl::StatusOr<SignedReply> Identify(MatcherState* state, const Probe& probe) {
  BatchProbe batch;
  batch.engine = probe.engine;
  batch.gallery = probe.gallery;
  batch.request = probe.accepted.probe();
  batch.deadline = probe.deadline;
  HEFT_ASSIGN_OR_RETURN(Matched matched, state->batcher.Identify(std::move(batch)));
  ShowDamage(probe.gallery, *matched.gallery, state->metrics);
  return probe.accepted.Sign(*matched.gallery, std::move(matched.reply));
}

absl::StatusOr<SignedReply> Verify(MatcherState* state, const Probe& probe) {
  if (!state->verifications.Take(probe.deadline)) {
    return absl::ResourceExhaustedError("too many verifications are waiting: try again later");
  }
  const Leave leave{&state->verifications};
  SignedReply out;
  const auto keep = [&](SignedReply reply) {
    out = std::move(reply);
    return absl::OkStatus();
  };
  HEFT_RETURN_IF_ERROR(
      state->galleries.DeskOf(*probe.engine).Answer(probe.accepted, keep).status());
  return out;
}

// AskNodes: of a gallery in buckets.
absl::StatusOr<Answer> AskNodes(MatcherState* state, const Probe& probe, bool verify) {
  if (!state->node_probes.Take(
          std::min(probe.deadline, std::chrono::steady_clock::now() + kPlaceWait))) {
    return absl::ResourceExhaustedError("too many probes wait for the nodes: try again later");
  }
  Answer answer;
  answer.place.reset(new Leave{&state->node_probes});
  BucketNodes& nodes = state->bucket_nodes;
  HEFT_ASSIGN_OR_RETURN(
      BucketReplies got,
      verify ? nodes.Verify(probe.gallery, probe.claimed, probe.nodes->files, probe.deadline)
             : nodes.Identify(probe.gallery, *probe.nodes, probe.deadline));
  std::vector<FormPart> parts;
  for (size_t i = 0; i < got.replies.size(); ++i) {
    const std::span<const uint8_t> reply = got.replies[i];
    parts.push_back({"reply", "", std::string(kHeftType), {reply.begin(), reply.end()}});
    got.rows[i] = {};
  }
  if (verify) {
    answer.type = kHeftType;
    answer.bytes = std::move(parts[0].bytes);
  } else {
    std::tie(answer.type, answer.bytes) = FormBody(parts);
  }
  return answer;
}

absl::StatusOr<Answer> Ask(MatcherState* state, const Probe& probe, bool verify) {
  if (probe.nodes) return AskNodes(state, probe, verify);
  HEFT_ASSIGN_OR_RETURN(SignedReply reply, verify ? Verify(state, probe) : Identify(state, probe));
  return Answer{std::string(kHeftType), std::move(reply.bytes), reply.generation, nullptr};
}

// Decided: the decider's answer to a reply. The gallery may change between reply and opening, and
// the key owner refuses a reply of an older state than the last that it signed: then the probe is
// matched again. Nodes answer a signed probe once, so its client asks again.
absl::StatusOr<SignedDecision> Decided(MatcherState* state, const HttpRequest& request,
                                       const Probe& probe, bool verify) {
  HEFT_ASSIGN_OR_RETURN(Relying relying, ReadRelying(request));
  Forwarded of = {probe.gallery, request.id, std::move(relying), request.deadline};
  for (int attempt = 1;; ++attempt) {
    HEFT_ASSIGN_OR_RETURN(const Answer answer, Ask(state, probe, verify));
    of.content_type = answer.type;
    auto decided = state->decider->Decide(answer.bytes, of);
    if (!answer.generation) return decided;
    if (decided.ok()) state->exchange.TakeHead(probe.gallery, std::move(decided->head));
    if (!absl::IsFailedPrecondition(decided.status()) || attempt == kDecisionAttempts)
      return decided;
    HEFT_ASSIGN_OR_RETURN(const Gallery newest, state->galleries.Newest(probe.gallery));
    if (newest.generation() == *answer.generation) return decided;
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
  if (!verify && wanted == Wanted::kReply &&
      state->bucket_nodes.Has(request.Parameter("gallery"))) {
    return absl::FailedPreconditionError(
        "a task has one reply: ask a gallery in buckets without callback, or for the decision");
  }
  HttpRequest kept = request;
  kept.deadline = std::chrono::steady_clock::now() + kTaskDeadline;
  const auto work = [state, kept, verify, wanted](const Monitor&) -> absl::StatusOr<Json> {
    HEFT_ASSIGN_OR_RETURN(const Probe probe, AcceptProbe(state, kept, verify));
    if (wanted != Wanted::kReply) {
      HEFT_ASSIGN_OR_RETURN(SignedDecision decided, Decided(state, kept, probe, verify));
      return DecisionJson(std::move(decided));
    }
    HEFT_ASSIGN_OR_RETURN(const Answer answer, Ask(state, probe, verify));
    return Json{{"reply", Base64(answer.bytes)}};
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
  HEFT_ASSIGN_OR_RETURN(const Probe probe, AcceptProbe(state, request, verify));
  if (*wanted == Wanted::kReply) {
    HEFT_ASSIGN_OR_RETURN(Answer answer, Ask(state, probe, verify));
    return BytesResponse(std::move(answer.bytes), answer.type);
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
