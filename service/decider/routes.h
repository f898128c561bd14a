// SPDX-License-Identifier: Apache-2.0
// The routes of the key owner's service (service/openapi/heft.yaml). No answer contains a score.
#ifndef HEFT_SERVICE_DECIDER_ROUTES_H_
#define HEFT_SERVICE_DECIDER_ROUTES_H_

#include <optional>
#include <string>

#include "service/decider/state.h"
#include "service/http/router.h"
#include "service/json.h"

namespace heft::service {

// AddDeciderRoutes: all routes except the common ones of run/daemon.h and the console. `service`
// outlives the router.
void AddDeciderRoutes(DeciderService* service, Router* router);
void AddDecisionRoutes(DeciderService* service, Router* router);   // routes_decisions.cc
void AddAdmissionRoutes(DeciderService* service, Router* router);  // routes_admissions.cc
void AddKeyRoutes(DeciderService* service, Router* router);        // routes_keys.cc
void AddPartRoutes(DeciderService* service, Router* router);       // routes_parts.cc

// RegisterDeciderMetrics: names and help texts, and the gauges that are computed at each request.
void RegisterDeciderMetrics(DeciderService* service);

// DeciderFacts: the overview that the console shows.
Json DeciderFacts(DeciderService* service);

// RuleOf: the rule by which replies of a gallery are decided. RuleTerms: the same, for fellows.
DecisionRule RuleOf(const GalleryRule& rule, bool likelihood);
Json RuleTerms(const GalleryRule& rule, bool likelihood);
// RefusalOf: without Retry-After if the budget is spent, because that lasts hours, not a second.
HttpResponse RefusalOf(const absl::Status& status);
// RefuseOther: 415 if the content type of the body is not that of a HEFT file.
std::optional<HttpResponse> RefuseOther(const HttpRequest& request);
// Recorded: the caller in the audit log: "request", "principal" and, if the other daemon asked for
// another party, "for".
Json Recorded(const char* event, const HttpRequest& request);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_ROUTES_H_
