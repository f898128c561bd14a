// SPDX-License-Identifier: Apache-2.0
// Log: JSON lines on standard error (spdlog), one an event: {"time", "level", "message", ...}. No
// bodies, tokens, scores or anything of a template: callers pass what may be read by everybody who
// runs the machine. Any thread.
#ifndef HEFT_SERVICE_RUN_LOG_H_
#define HEFT_SERVICE_RUN_LOG_H_

#include <string_view>

#include "service/json.h"

namespace heft::service {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// SetLogLevel: what is below it is left out; kInfo at first.
void SetLogLevel(LogLevel level);
// LogLine: `fields` is an object; "time", "level" and "message" come before what is in it.
void LogLine(LogLevel level, std::string_view message, const Json& fields = Json::object());

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_LOG_H_
