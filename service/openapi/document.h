// SPDX-License-Identifier: Apache-2.0
// The API description of both services, service/openapi/heft.yaml, embedded in the program.
#ifndef HEFT_SERVICE_OPENAPI_DOCUMENT_H_
#define HEFT_SERVICE_OPENAPI_DOCUMENT_H_

#include <string_view>

#include "service/http/router.h"

namespace heft::service {

// OpenApiDocument: YAML. AddContractRoute: GET /v1/openapi.yaml, for every caller.
std::string_view OpenApiDocument();
void AddContractRoute(Router* router);

}  // namespace heft::service

#endif  // HEFT_SERVICE_OPENAPI_DOCUMENT_H_
