// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/jwt.h"
#include "service/json.h"
#include "service/matcher/decider_link.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr uint32_t kNodeProbes = 8;

}  // namespace

MatcherState::MatcherState(const MatcherConfig& its_config, std::shared_ptr<const Engine> first,
                           std::shared_ptr<Decider> its_decider,
                           std::shared_ptr<Callbacks> its_callbacks, AuditLog* its_audit_log,
                           Metrics* its_metrics)
    : config(its_config),
      audit_log(its_audit_log),
      metrics(its_metrics),
      engine(std::move(first)),
      galleries(config.store),
      uploads(config.files, config.staging),
      decider(std::move(its_decider)),
      callbacks(std::move(its_callbacks)),
      exchange(&engine, &galleries, decider, config.exchange, audit_log, metrics),
      upkeep(&engine, &galleries, &exchange, config.upkeep, audit_log, metrics),
      bucket_nodes(config.router, config.sharded),
      node_probes(kNodeProbes),
      verifications(config.verifications),
      changes(std::max(1u, config.common.limits.workers / 2)),
      waits(std::max(1u, config.common.limits.workers / 4)),
      stored_answers(config.state),
      batcher(&galleries, config.batch, metrics),
      tasks(config.tasks) {}

absl::Status MatcherState::Ready() {
  const auto names = galleries.Names();
  if (!names.ok()) return names.status();
  if (names->empty()) {
    // Nodes are not asked here: while one is away, the other galleries answer.
    return config.sharded.empty() ? absl::FailedPreconditionError("there is no gallery yet")
                                  : absl::OkStatus();
  }
  HEFT_RETURN_IF_ERROR(galleries.Newest(names->front()).status());
  return galleries.SignerAnswers();
}

void MatcherState::Stop() {
  exchange.Stop();
  upkeep.Stop();
  tasks.Stop();
}

Handler Answers(MatcherState* state, Answering answering) {
  return [state, answering = std::move(answering)](const HttpRequest& request) {
    absl::StatusOr<HttpResponse> answer = answering(request);
    if (answer.ok()) return *std::move(answer);
    HttpResponse response = ErrorResponse(answer.status());
    if (absl::IsResourceExhausted(answer.status())) {
      std::erase_if(response.headers,
                    [](const auto& header) { return header.first == "Retry-After"; });
      if (!answer.status().GetPayload(kSpent)) {
        response.headers.emplace_back("Retry-After", absl::StrCat(state->batcher.RetryAfter()));
      }
    }
    if (response.status >= 500) {
      LogLine(LogLevel::kError, "a request failed",
              {{"request", request.id}, {"why", std::string(answer.status().message())}});
    }
    return response;
  };
}

Handler AnswersOnce(MatcherState* state, Answering answering) {
  return Answers(state, [state, answering = std::move(answering)](const HttpRequest& request) {
    return state->stored_answers.Once(request, [&] { return answering(request); });
  });
}

absl::Status Intend(MatcherState* state, const HttpRequest& request, Json fields) {
  Json event = {{"event", "intent"}, {"request", request.id}, {"principal", request.who.name}};
  event.update(fields);
  return state->audit_log->Append(std::move(event));
}

HttpResponse Accepted(const std::string& task) {
  HttpResponse response = JsonResponse({{"taskId", task}}, 202);
  response.headers.emplace_back("Location", absl::StrCat("/v1/tasks/", task));
  return response;
}

void AddMatcherRoutes(MatcherState* state, Router* router) {
  AddMatchRoutes(state, router);
  AddPersonRoutes(state, router);
  AddRemovalRoutes(state, router);
  AddGalleryRoutes(state, router);
  AddExchangeRoutes(state, router);
  AddKeyRoutes(state, router);
  AddTaskRoutes(state, router);
}

}  // namespace heft::service
