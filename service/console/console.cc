// SPDX-License-Identifier: Apache-2.0
#include "service/console/console.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "heft/trust.h"
#include "service/console/files.h"
#include "service/json.h"

namespace heft::service {
namespace {

// A page that runs a foreign script could approve people. So it may only run its own files, and no
// other page may frame it.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

HttpResponse Serve(const ConsoleFile& file) {
  const std::span<const uint8_t> bytes(file.bytes, file.size);
  HttpResponse response = BytesResponse({bytes.begin(), bytes.end()}, file.content_type);
  response.headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

void AddFiles(Router* router) {
  for (const ConsoleFile& file : ConsoleFiles()) {
    const std::string name = file.name;
    const Handler handler = [&file](const HttpRequest&) { return Serve(file); };
    router->Add({.method = "GET",
                 .pattern = "/console/" + (name == "index.html" ? "" : name),
                 .operation = "console:" + name,
                 .handler = handler});
  }
  router->Add({.method = "GET",
               .pattern = "/console",
               .operation = "console:",
               .handler = [](const HttpRequest&) {
                 HttpResponse response = NoContent();
                 response.status = 308;
                 response.headers = {{"Location", "/console/"}};
                 return response;
               }});
}

}  // namespace

void AddConsole(Router* router, const std::string& service, std::function<Json()> facts,
                const Traffic* traffic) {
  AddFiles(router);
  router->Add({.method = "GET",
               .pattern = "/v1/status",
               .operation = "readStatus",
               .scope = Scope::kReadMetrics,
               .handler = [facts = std::move(facts)](const HttpRequest&) {
                 return JsonResponse({{"facts", facts()}});
               }});
  router->Add({.method = "GET",
               .pattern = "/v1/traffic",
               .operation = "readTraffic",
               .scope = Scope::kReadMetrics,
               .handler = [traffic](const HttpRequest&) {
                 return JsonResponse(traffic->Read(UnixTime()));
               }});
  Json about = {{"service", service}, {"operations", Json::array()}};
  std::vector<std::string> operations;
  for (const Route& route : router->routes()) operations.push_back(route.operation);
  std::sort(operations.begin(), operations.end());
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
  about["operations"] = operations;
  router->Add({.method = "GET",
               .pattern = "/v1/service",
               .operation = "readService",
               .handler = [about](const HttpRequest&) { return JsonResponse(about); }});
}

}  // namespace heft::service
