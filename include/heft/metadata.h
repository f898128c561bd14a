// SPDX-License-Identifier: Apache-2.0
// Metadata: what a gallery keeps beside a template, in the clear: where, on which lists, how old;
// and conditions that restrict an identification to those whom they fit. docs/gallery.md says who
// learns what by them.
#ifndef HEFT_METADATA_H_
#define HEFT_METADATA_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

inline constexpr size_t kMostMetadataPairs = 16;
inline constexpr size_t kMostMetadataKey = 64;     // bytes
inline constexpr size_t kMostMetadataValue = 255;  // bytes

// MetadataPair: a key of 1 to kMostMetadataKey bytes a to z, 0 to 9, '.', '_', '-', and a value of
// 1 to kMostMetadataValue bytes of UTF-8, of the characters that an identity may have.
struct MetadataPair {
  std::string key, value;
  auto operator<=>(const MetadataPair&) const = default;
};
// Metadata: at most kMostMetadataPairs, all different. A key may stand several times: a person who
// is on two lists.
using Metadata = std::vector<MetadataPair>;

// CheckMetadata: kInvalidArgument, saying why, for what is none.
HEFT_EXPORT absl::Status CheckMetadata(const Metadata& metadata);
// ParseMetadataPair: of "site=berlin". kInvalidArgument.
HEFT_EXPORT absl::StatusOr<MetadataPair> ParseMetadataPair(std::string_view text);
// ParseMetadata: of several, which CheckMetadata finds sound.
HEFT_EXPORT absl::StatusOr<Metadata> ParseMetadata(std::span<const std::string> pairs);

// ParseExpiry: Unix seconds, of a date ("2027-01-31", from 00:00 UTC on), a time
// ("2027-01-31T12:30:00Z"), or a time from `now` on ("90d"; s, m, h, d and y, of 365 days); 0 for
// no text. kInvalidArgument for what is none of them, or has passed.
HEFT_EXPORT absl::StatusOr<uint64_t> ParseExpiry(std::string_view text, uint64_t now);

// Condition: that a key has one of `values`, at most kMostConditionValues, all different; or,
// without values, that it has a value that is a number within the bounds, of which there is one at
// least. A number is written in decimal digits, "34" or "-0.5" or "1e3".
struct Condition {
  std::string key;
  std::vector<std::string> values;
  std::optional<double> at_least = {}, at_most = {};
  bool operator==(const Condition&) const = default;
};
inline constexpr size_t kMostConditions = 16;
inline constexpr size_t kMostConditionValues = 64;

// CheckConditions: kInvalidArgument, saying why, for what are none.
HEFT_EXPORT absl::Status CheckConditions(std::span<const Condition> conditions);
// ParseCondition: of "site=berlin", "list=a|b" (one of them), "age=18..30", "age=18.." or
// "age=..30" (bounds included). kInvalidArgument. Values with "|" or ".." in them are not for this.
HEFT_EXPORT absl::StatusOr<Condition> ParseCondition(std::string_view text);
// ParseConditions: of several, which CheckConditions finds sound.
HEFT_EXPORT absl::StatusOr<std::vector<Condition>> ParseConditions(
    std::span<const std::string> texts);
// ConditionText: as ParseCondition takes it.
HEFT_EXPORT std::string ConditionText(const Condition& condition);

// Fits: whether all conditions hold, each by any one value of its key.
HEFT_EXPORT bool Fits(const Metadata& metadata, std::span<const Condition> conditions);

}  // namespace heft

#endif  // HEFT_METADATA_H_
