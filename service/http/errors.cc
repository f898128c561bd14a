// SPDX-License-Identifier: Apache-2.0
#include "service/http/errors.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/json.h"

namespace heft::service {
namespace {

// ErrorField: a string member of an error's body, or empty.
std::string ErrorField(const HttpResponse& response, const char* name) {
  const auto json = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  const bool is = json.is_object() && json.contains(name) && json[name].is_string();
  return is ? json[name].get<std::string>() : std::string();
}

}  // namespace

bool IsSpent(const HttpResponse& response) {
  return response.status == 429 &&
         std::none_of(response.headers.begin(), response.headers.end(), [](const auto& header) {
           return absl::EqualsIgnoreCase(header.first, "Retry-After");
         });
}

bool IsReplayed(const HttpResponse& response) {
  return response.status == 401 && ErrorField(response, "code") == "REPLAYED";
}

absl::Status StatusOfError(const HttpResponse& response, const std::string& what) {
  static const auto* const codes = new std::map<std::string, absl::StatusCode>([] {
    std::map<std::string, absl::StatusCode> all;
    for (int code = 1; code <= 16; ++code) {
      const auto value = static_cast<absl::StatusCode>(code);
      all[absl::StatusCodeToString(value)] = value;
    }
    return all;
  }());
  const std::string said = ErrorField(response, "message"), code = ErrorField(response, "code");
  const std::string message =
      absl::StrCat(what, ": ", said.empty() ? absl::StrCat("HTTP ", response.status) : said);
  if (IsReplayed(response)) return absl::UnavailableError(message);
  // The service's refusal of this daemon does not concern the daemon's client.
  if (response.status == 401 || response.status == 403) return absl::InternalError(message);
  if (const auto it = codes->find(code); it != codes->end()) return {it->second, message};
  if (response.status == 429) return absl::ResourceExhaustedError(message);
  if (response.status == 504) return absl::DeadlineExceededError(message);
  if (response.status >= 502) return absl::UnavailableError(message);
  if (response.status >= 500) return absl::InternalError(message);
  return absl::FailedPreconditionError(message);
}

}  // namespace heft::service
