// SPDX-License-Identifier: Apache-2.0
// What the key owner's service answers (service/openapi/heft.yaml). No score leaves it, whatever is
// asked.
#ifndef HEFT_SERVICE_DECIDER_ROUTES_H_
#define HEFT_SERVICE_DECIDER_ROUTES_H_

#include <optional>
#include <string>

#include "service/decider/state.h"
#include "service/http/router.h"
#include "service/json.h"

namespace heft::service {

// AddDeciderRoutes: all but the common ones of run/daemon.h and the console. `service` outlives the
// router.
void AddDeciderRoutes(DeciderService* service, Router* router);
void AddDecisionRoutes(DeciderService* service, Router* router);   // routes_decisions.cc
void AddAdmissionRoutes(DeciderService* service, Router* router);  // routes_admissions.cc
void AddKeyRoutes(DeciderService* service, Router* router);        // routes_keys.cc

// RegisterDeciderMetrics: names and help, and the gauges that are read when somebody asks.
void RegisterDeciderMetrics(DeciderService* service);

// DeciderFacts: what the console shows of it at a glance.
Json DeciderFacts(DeciderService* service);

// RefuseOther: 415 for a body that is no HEFT file by its content type.
std::optional<HttpResponse> RefuseOther(const HttpRequest& request);
// Recorded: what the audit log says of who asked: "request", "principal" and, where the other
// daemon asked for somebody, "for".
Json Recorded(const char* event, const HttpRequest& request);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_ROUTES_H_
