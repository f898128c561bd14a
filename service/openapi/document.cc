// SPDX-License-Identifier: Apache-2.0
#include "service/openapi/document.h"

#include <utility>

namespace heft::service {
namespace {

constexpr std::string_view kDocument =
#include "service/openapi/heft_yaml.inc"
    ;

}  // namespace

std::string_view OpenApiDocument() { return kDocument; }

void AddContractRoute(Router* router) {
  Route route = {"GET", "/v1/openapi.yaml", "readContract", Scope::kPublic, {}};
  route.handler = [](const HttpRequest&) {
    const std::string_view document = OpenApiDocument();
    return BytesResponse({document.begin(), document.end()}, "application/yaml");
  };
  router->Add(std::move(route));
}

}  // namespace heft::service
