// SPDX-License-Identifier: Apache-2.0
// The web console of both services: static files, and the data that both services give it.
#ifndef HEFT_SERVICE_CONSOLE_CONSOLE_H_
#define HEFT_SERVICE_CONSOLE_CONSOLE_H_

#include <functional>
#include <string>

#include "service/console/traffic.h"
#include "service/http/router.h"
#include "service/json.h"

namespace heft::service {

// AddConsole: /console/ and its files, which hold no data, so that every client may load them. GET
// /v1/service: "matcher" or "decider", and the operations of all routes in the router; so call it
// last. GET /v1/status: the result of `facts`, an array of {label, value, note, warning}. GET
// /v1/traffic: from `traffic`, which outlives the router.
void AddConsole(Router* router, const std::string& service, std::function<Json()> facts,
                const Traffic* traffic);

}  // namespace heft::service

#endif  // HEFT_SERVICE_CONSOLE_CONSOLE_H_
