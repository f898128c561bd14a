// SPDX-License-Identifier: Apache-2.0
// The contract of both services, service/openapi/heft.yaml, as it is in the program.
#ifndef HEFT_SERVICE_OPENAPI_DOCUMENT_H_
#define HEFT_SERVICE_OPENAPI_DOCUMENT_H_

#include <string_view>

#include "service/http/router.h"

namespace heft::service {

// OpenApiDocument: YAML. AddContractRoute: GET /v1/openapi.yaml, for everybody.
std::string_view OpenApiDocument();
void AddContractRoute(Router* router);

}  // namespace heft::service

#endif  // HEFT_SERVICE_OPENAPI_DOCUMENT_H_
