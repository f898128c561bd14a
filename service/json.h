// SPDX-License-Identifier: Apache-2.0
// Json: the JSON type of all services, and a parser for untrusted JSON: requests, tokens, key sets.
#ifndef HEFT_SERVICE_JSON_H_
#define HEFT_SERVICE_JSON_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "heft/results.h"
#include "nlohmann/json.hpp"

namespace heft::service {

// Json: objects keep the order of their members, and equality includes this order.
using Json = nlohmann::ordered_json;

// JsonLimits: limits on a text. A parsed value takes a hundred bytes of memory for two of text, so
// values are counted too.
struct JsonLimits {
  size_t bytes = 1 << 20;
  size_t depth = 32;
  size_t values = 1 << 16;  // objects, arrays and their values
};

// ParseJson reads a text up to the first error: kInvalidArgument for text that is not JSON, has a
// key twice or is above a limit. "the JSON has a key twice"
absl::StatusOr<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});
absl::StatusOr<Json> ParseJson(std::span<const uint8_t> text, const JsonLimits& limits = {});

// RecordJson: a record of heft/results.h.
template <typename Record>
Json RecordJson(const Record& record) {
  return Json::parse(ToJson(record).dump());
}

// TimeJson: RFC 3339 text; null for 0.
inline Json TimeJson(Timestamp time) { return time == 0 ? Json(nullptr) : Json(UtcText(time)); }

}  // namespace heft::service

#endif  // HEFT_SERVICE_JSON_H_
