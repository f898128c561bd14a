// SPDX-License-Identifier: Apache-2.0
// What a service's error response means, for daemons that ask other daemons.
#ifndef HEFT_SERVICE_HTTP_ERRORS_H_
#define HEFT_SERVICE_HTTP_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "service/http/message.h"

namespace heft::service {

// StatusOfError: a service's error response as a status: by its code, else by its HTTP status.
// `what` names the service.
absl::Status StatusOfError(const HttpResponse& response, const std::string& what);
// IsSpent: whether a budget is spent. If the service is overloaded, its answer has Retry-After; for
// a budget it has none.
bool IsSpent(const HttpResponse& response);
// IsReplayed: a connection broke, and HttpClient sent the message again with the same nonce, which
// the service had already seen: its answer is lost.
bool IsReplayed(const HttpResponse& response);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_ERRORS_H_
