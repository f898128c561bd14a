// SPDX-License-Identifier: Apache-2.0
// The data of a matcher, besides its requests, for the console and Prometheus.
#ifndef HEFT_SERVICE_MATCHER_CONSOLE_FACTS_H_
#define HEFT_SERVICE_MATCHER_CONSOLE_FACTS_H_

#include "service/json.h"
#include "service/matcher/state.h"

namespace heft::service {

// MatcherFacts: {label, value, note, warning}, for GET /v1/status.
Json MatcherFacts(MatcherState* state, bool decider_away);
// DescribeGalleriesIn: gauges of each gallery, read before each exposition.
void DescribeGalleriesIn(MatcherState* state);

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_CONSOLE_FACTS_H_
