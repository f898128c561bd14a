// SPDX-License-Identifier: Apache-2.0
#include "service/run/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"

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

// Logger: one line an event, as it is given; spdlog keeps lines of several threads apart.
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

std::string Now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm broken{};
  gmtime_r(&seconds, &broken);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &broken);
  return absl::StrFormat("%s.%03dZ", text, static_cast<int>(milliseconds % 1000));
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(LevelOf(level)); }

void LogLine(LogLevel level, std::string_view message, const nlohmann::ordered_json& fields) {
  if (!Logger().should_log(LevelOf(level))) return;
  nlohmann::ordered_json line = {
      {"time", Now()}, {"level", NameOf(level)}, {"message", std::string(message)}};
  for (const auto& [name, value] : fields.items()) {
    if (!line.contains(name)) line[name] = value;
  }
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  Logger().log(LevelOf(level), "{}", text);
}

}  // namespace heft::service
