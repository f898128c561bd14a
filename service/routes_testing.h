// SPDX-License-Identifier: Apache-2.0
// For tests only: the routes of a daemon, one a line. A test compares them with a list written by
// hand, because the gate reads the routes themselves and would accept a wrong one.
#ifndef HEFT_SERVICE_ROUTES_TESTING_H_
#define HEFT_SERVICE_ROUTES_TESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/http/router.h"
#include "service/run/daemon.h"
#include "service/testing.h"

namespace heft::service::testing {

// RouteLines: "POST /v1/identify/{gallery} persons:identify signed audited".
inline std::vector<std::string> RouteLines(const Router& router) {
  std::vector<std::string> lines;
  for (const Route& route : router.routes()) {
    lines.push_back(
        absl::StrCat(route.method, " ", route.pattern, " ", std::string(ScopeName(route.scope)),
                     route.signed_request ? " signed" : "", route.audited ? " audited" : ""));
  }
  return lines;
}

// CommonLines: the routes that both daemons have, including the console's and the API
// description's.
inline std::vector<std::string> CommonLines() {
  return {"GET /health/live public",
          "GET /health/ready public",
          "GET /metrics metrics:read",
          "GET /v1/audit-log audit:read",
          "GET /v1/audit-log/head audit:read",
          "GET /v1/openapi.yaml public",
          "GET /v1/service public",
          "GET /v1/status metrics:read",
          "GET /v1/traffic metrics:read",
          "GET /console public",
          "GET /console/ public",
          "GET /console/api.js public",
          "GET /console/app.js public",
          "GET /console/icon.svg public",
          "GET /console/pages.js public",
          "GET /console/style.css public",
          "GET /console/view.js public"};
}

// BaseIn: the base of a daemon, in a folder, with its own certificate.
inline absl::StatusOr<std::unique_ptr<DaemonBase>> BaseIn(const std::string& folder) {
  CommonConfig config;
  config.tls = ThrowAwayCa(folder).Issue("server");
  config.authority.rules.certificates = {{"client", "", {ServiceRole::kClient}, false}};
  config.audit_log = folder + "/audit.log";
  return DaemonBase::Create(config);
}

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_ROUTES_TESTING_H_
