// SPDX-License-Identifier: Apache-2.0
// Json: the one JSON type of the services, and JSON from somebody who is not trusted: requests,
// tokens, sets of keys.
#ifndef HEFT_SERVICE_JSON_H_
#define HEFT_SERVICE_JSON_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace heft::service {

// Json: objects keep the order of their members, and two are equal where the order is the same too.
using Json = nlohmann::ordered_json;

// JsonLimits: what a text may make of itself. A value that is parsed takes a hundred bytes where
// its text takes two, so values are counted too.
struct JsonLimits {
  size_t bytes = 1 << 20;
  size_t depth = 32;
  size_t values = 1 << 16;  // objects, arrays and what they hold
};

// ParseJson reads a text and stops at the first thing that is wrong: kInvalidArgument for what is
// no JSON, has a key twice or is above a limit. "the JSON has a key twice"
absl::StatusOr<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});
absl::StatusOr<Json> ParseJson(std::span<const uint8_t> text, const JsonLimits& limits = {});

}  // namespace heft::service

#endif  // HEFT_SERVICE_JSON_H_
