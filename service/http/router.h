// SPDX-License-Identifier: Apache-2.0
// Router: the table of all routes of a service. A caller's right depends only on the scope of the
// route, and is checked before a handler runs; a test covers all routes and roles.
#ifndef HEFT_SERVICE_HTTP_ROUTER_H_
#define HEFT_SERVICE_HTTP_ROUTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "service/http/message.h"

namespace heft::service {

using Handler = std::function<HttpResponse(const HttpRequest&)>;

struct Route {
  std::string method;     // "GET"
  std::string pattern;    // "/v1/galleries/{gallery}": a name in braces matches one segment
  std::string operation;  // operationId in the OpenAPI document, also in metrics and the audit log
  Scope scope = Scope::kPublic;
  Handler handler;
  uint64_t most_bytes = 64 << 10;  // of a body; 413 above it, before it is read
  bool signed_request = false;     // needs nonce and time (access/replay.h): all that change or ask
  bool audited = false;            // a line in the audit log, also for refusals
};

class Router {
 public:
  // Aborts if a route is added twice: only the program fills the table, never a user.
  void Add(Route route);
  const std::vector<Route>& routes() const { return routes_; }
  // Match: the route for a path as sent (segments are split first, then decoded), and its decoded
  // parameters; nullptr if no pattern matches. `allowed`: the methods of matching patterns, for
  // 405.
  const Route* Match(const std::string& method, const std::string& path,
                     std::map<std::string, std::string>* parameters,
                     std::vector<std::string>* allowed) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_ROUTER_H_
