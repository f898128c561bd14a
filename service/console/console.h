// SPDX-License-Identifier: Apache-2.0
// The web console of both services: static files, and what it asks that is no service's own.
#ifndef HEFT_SERVICE_CONSOLE_CONSOLE_H_
#define HEFT_SERVICE_CONSOLE_CONSOLE_H_

#include <functional>
#include <string>

#include "service/console/traffic.h"
#include "service/http/router.h"
#include "service/json.h"

namespace heft::service {

// AddConsole: /console/ and its files, which anybody may load who has a connection: they say
// nothing. GET /v1/service: "matcher" or "decider", and the operations of all routes that the
// router has by now, so it is called last. GET /v1/status: what `facts` gives, an array of {label,
// value, note, warning}. GET /v1/traffic: of `traffic`, which outlives the router.
void AddConsole(Router* router, const std::string& service, std::function<Json()> facts,
                const Traffic* traffic);

}  // namespace heft::service

#endif  // HEFT_SERVICE_CONSOLE_CONSOLE_H_
