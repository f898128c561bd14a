// SPDX-License-Identifier: Apache-2.0
#include "service/run/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "service/json.h"
#include "service/run/utc_time.h"

namespace heft::service {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

const char* NameOf(LogLevel level) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<int>(level)];
}

// Logger: one line for each event, unchanged; spdlog separates the lines of several threads.
spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made =
        std::make_shared<spdlog::logger>("heft", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(LevelOf(level)); }

void LogLine(LogLevel level, std::string_view message, const Json& fields) {
  if (!Logger().should_log(LevelOf(level))) return;
  Json line = {{"time", UtcNow()}, {"level", NameOf(level)}, {"message", std::string(message)}};
  for (const auto& [name, value] : fields.items()) {
    if (!line.contains(name)) line[name] = value;
  }
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  Logger().log(LevelOf(level), "{}", text);
}

}  // namespace heft::service
