// SPDX-License-Identifier: Apache-2.0
// Metadata: unencrypted facts that a gallery stores with a template, such as site, lists or age,
// and conditions that restrict an identification to matching templates. docs/gallery.md says which
// role learns what from them.
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
// Metadata: at most kMostMetadataPairs, all different. A key may occur several times, for example
// if a person is on two lists.
using Metadata = std::vector<MetadataPair>;

// CheckMetadata: kInvalidArgument, with the reason, for invalid metadata.
HEFT_EXPORT absl::Status CheckMetadata(const Metadata& metadata);
// ParseMetadataPair: reads "site=berlin". kInvalidArgument.
HEFT_EXPORT absl::StatusOr<MetadataPair> ParseMetadataPair(std::string_view text);
// ParseMetadata: reads several pairs. Errors of CheckMetadata.
HEFT_EXPORT absl::StatusOr<Metadata> ParseMetadata(std::span<const std::string> pairs);

// ParseExpiry: Unix seconds from a date ("2027-01-31", from 00:00 UTC on), a time
// ("2027-01-31T12:30:00Z"), or a duration from `now` ("90d"; s, m, h, d and y, of 365 days); 0 for
// an empty text. kInvalidArgument for other texts, and for a time that has passed.
HEFT_EXPORT absl::StatusOr<uint64_t> ParseExpiry(std::string_view text, uint64_t now);

// Condition: a key has one of `values`, at most kMostConditionValues, all different. Without
// values: a key has a number within the bounds as a value, and at least one bound is set. A number
// is written in decimal digits: "34", "-0.5" or "1e3".
struct Condition {
  std::string key;
  std::vector<std::string> values;
  std::optional<double> at_least = {}, at_most = {};
  bool operator==(const Condition&) const = default;
};
inline constexpr size_t kMostConditions = 16;
inline constexpr size_t kMostConditionValues = 64;

// CheckConditions: kInvalidArgument, with the reason, for invalid conditions.
HEFT_EXPORT absl::Status CheckConditions(std::span<const Condition> conditions);
// ParseCondition: reads "site=berlin", "list=a|b" (one of them), "age=18..30", "age=18.." or
// "age=..30" (bounds included). kInvalidArgument. Cannot express values that contain "|" or "..".
HEFT_EXPORT absl::StatusOr<Condition> ParseCondition(std::string_view text);
// ParseConditions: reads several conditions. Errors of CheckConditions.
HEFT_EXPORT absl::StatusOr<std::vector<Condition>> ParseConditions(
    std::span<const std::string> texts);
// ConditionText: the text that ParseCondition reads.
HEFT_EXPORT std::string ConditionText(const Condition& condition);

// Fits: whether all conditions hold, each for at least one value of its key.
HEFT_EXPORT bool Fits(const Metadata& metadata, std::span<const Condition> conditions);

}  // namespace heft

#endif  // HEFT_METADATA_H_
