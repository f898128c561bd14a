// SPDX-License-Identifier: Apache-2.0
#ifndef HEFT_SERVICE_RUN_UTC_TIME_H_
#define HEFT_SERVICE_RUN_UTC_TIME_H_

#include <string>

namespace heft::service {

// UtcNow: "2026-11-22T18:31:00.123Z" (RFC 3339), the format of logs and audit logs.
std::string UtcNow();

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_UTC_TIME_H_
