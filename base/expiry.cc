// SPDX-License-Identifier: Apache-2.0
// Parses expiry times of templates.
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "heft/gallery.h"

namespace heft {
namespace {

constexpr uint64_t kDay = 86400;
constexpr uint64_t kLatest = 253402300800;  // the year 10000

// A number of digits only.
std::optional<uint64_t> Whole(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// The number at [at, at + size), if the text has only digits there.
std::optional<uint64_t> Part(std::string_view text, size_t at, size_t size) {
  return Whole(text.substr(at, size));
}

bool Matches(std::string_view text, std::string_view pattern) {
  if (text.size() != pattern.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) return false;
  }
  return true;
}

// Unix seconds of a date, or of a time.
std::optional<uint64_t> Date(std::string_view text) {
  const bool timed = Matches(text, "0000-00-00T00:00:00Z");
  if (!timed && !Matches(text, "0000-00-00")) return std::nullopt;
  const std::chrono::year_month_day day(
      std::chrono::year(static_cast<int>(*Part(text, 0, 4))),
      std::chrono::month(static_cast<unsigned>(*Part(text, 5, 2))),
      std::chrono::day(static_cast<unsigned>(*Part(text, 8, 2))));
  if (!day.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  if (days < 0) return 0;  // long past
  if (!timed) return static_cast<uint64_t>(days) * kDay;
  const uint64_t hour = *Part(text, 11, 2), minute = *Part(text, 14, 2),
                 second = *Part(text, 17, 2);
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return static_cast<uint64_t>(days) * kDay + hour * 3600 + minute * 60 + second;
}

// Seconds of "90d".
std::optional<uint64_t> Span(std::string_view text) {
  static const std::map<char, uint64_t> units = {
      {'s', 1}, {'m', 60}, {'h', 3600}, {'d', kDay}, {'y', 365 * kDay}};
  if (text.empty()) return std::nullopt;
  const auto unit = units.find(text.back());
  const auto count = Whole(text.substr(0, text.size() - 1));
  if (unit == units.end() || !count || *count > kLatest / unit->second) return std::nullopt;
  return *count * unit->second;
}

}  // namespace

absl::StatusOr<uint64_t> ParseExpiry(std::string_view text, uint64_t now) {
  if (text.empty()) return 0;
  std::optional<uint64_t> expires = Date(text);
  if (!expires) {
    expires = Span(text);
    if (expires) *expires += now;
  }
  if (!expires) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" is not a time of expiry: give a date such as 2027-01-31, a time such as "
                     "2027-01-31T12:30:00Z (UTC), or a duration such as 90d, 12h, 2y"));
  }
  if (*expires > now) return *expires;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(text), " has passed: the template could never be matched"));
}

}  // namespace heft
