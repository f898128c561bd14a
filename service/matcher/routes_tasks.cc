// SPDX-License-Identifier: Apache-2.0
// Tasks, and the API description.
#include <utility>

#include "base/status.h"
#include "service/json.h"
#include "service/matcher/state.h"
#include "service/openapi/document.h"

namespace heft::service {
namespace {

absl::StatusOr<HttpResponse> ReadTask(MatcherState* state, const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const Json task,
                        state->tasks.Describe(request.Parameter("task"), request.who));
  return JsonResponse(task);
}

absl::StatusOr<HttpResponse> CancelTask(MatcherState* state, const HttpRequest& request) {
  HEFT_RETURN_IF_ERROR(state->tasks.Cancel(request.Parameter("task"), request.who));
  return NoContent();
}

}  // namespace

void AddTaskRoutes(MatcherState* state, Router* router) {
  // Every role that can begin a task may read models; Tasks checks the owner of the task.
  for (const char* pattern : {"/v1/tasks/{task}", "/v1/tasks/{task}/status"}) {
    const bool osia = std::string_view(pattern).ends_with("status");
    router->Add(
        {"GET", pattern, osia ? "readTaskStatus" : "readTask", Scope::kReadModel,
         Answers(state, [state](const HttpRequest& request) { return ReadTask(state, request); })});
  }
  Route cancel = {
      "DELETE", "/v1/tasks/{task}", "cancelTask", Scope::kReadModel,
      Answers(state, [state](const HttpRequest& request) { return CancelTask(state, request); })};
  cancel.signed_request = true;
  cancel.audited = true;
  router->Add(std::move(cancel));
  AddContractRoute(router);
}

}  // namespace heft::service
