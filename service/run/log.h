// SPDX-License-Identifier: Apache-2.0
// Log: JSON lines on standard error (spdlog), one for each event: {"time", "level", "message",
// ...}. Callers pass no bodies, tokens, scores or data of templates, because every operator of the
// machine can read the log. Any thread.
#ifndef HEFT_SERVICE_RUN_LOG_H_
#define HEFT_SERVICE_RUN_LOG_H_

#include <string_view>

#include "service/json.h"

namespace heft::service {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// SetLogLevel: lower levels are left out; kInfo at first.
void SetLogLevel(LogLevel level);
// LogLine: `fields` is an object; "time", "level" and "message" come before its members.
void LogLine(LogLevel level, std::string_view message, const Json& fields = Json::object());

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_LOG_H_
