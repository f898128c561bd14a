// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/identity.h"
#include "base/status.h"
#include "heft/gallery.h"

namespace heft {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

absl::Status CheckKey(std::string_view key) {
  const bool sized = !key.empty() && key.size() <= kMaxMetadataKey;
  if (sized && std::ranges::all_of(key, IsKeyCharacter)) return absl::OkStatus();
  return Invalid("a key of metadata is 1 to ", kMaxMetadataKey,
                 " bytes of a to z, 0 to 9, '.', '_' and '-'");
}

absl::Status CheckValue(std::string_view key, std::string_view value) {
  if (value.empty() || value.size() > kMaxMetadataValue) {
    return Invalid("a value of ", std::string(key), " has ", value.size(),
                   " bytes; it must be 1 to ", kMaxMetadataValue);
  }
  const std::string flaw = TextFlaw(value);
  if (flaw.empty()) return absl::OkStatus();
  return Invalid("a value of ", std::string(key), " ", flaw);
}

template <typename T>
bool AllDifferent(std::vector<T> values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

// A finite decimal number without other characters.
std::optional<double> Number(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string NumberText(std::optional<double> number) {
  if (!number) return "";
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *number).ptr;
  return {digits.data(), end};
}

// The two sides of the first `mark`; none without a mark.
std::optional<std::pair<std::string_view, std::string_view>> Split(std::string_view text,
                                                                   std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + mark.size()));
}

absl::Status CheckRange(const Condition& condition) {
  if (!condition.at_least && !condition.at_most) {
    return Invalid("a condition on ", condition.key, " has neither values nor bounds");
  }
  for (const std::optional<double>& bound : {condition.at_least, condition.at_most}) {
    if (bound && !std::isfinite(*bound)) {
      return Invalid("a bound of ", condition.key, " is not a finite number");
    }
  }
  if (condition.at_least && condition.at_most && *condition.at_least > *condition.at_most) {
    return Invalid("nothing lies within ", ConditionText(condition),
                   ": give the smaller number first");
  }
  return absl::OkStatus();
}

absl::Status CheckCondition(const Condition& condition) {
  HEFT_RETURN_IF_ERROR(CheckKey(condition.key));
  if (condition.values.empty()) return CheckRange(condition);
  if (condition.at_least || condition.at_most) {
    return Invalid("a condition on ", condition.key, " has values and bounds: give two conditions");
  }
  if (condition.values.size() > kMaxConditionValues) {
    return Invalid("a condition on ", condition.key, " names ", condition.values.size(),
                   " values; at most ", kMaxConditionValues, " may be named");
  }
  for (const std::string& value : condition.values) {
    HEFT_RETURN_IF_ERROR(CheckValue(condition.key, value));
  }
  if (AllDifferent(condition.values)) return absl::OkStatus();
  return Invalid("a condition on ", condition.key, " names a value twice");
}

absl::StatusOr<Condition> ParseRange(std::string_view key, std::string_view least,
                                     std::string_view most) {
  Condition out;
  out.key = std::string(key);
  out.at_least = Number(least);
  out.at_most = Number(most);
  const bool sound = (out.at_least || least.empty()) && (out.at_most || most.empty());
  if (sound && (out.at_least || out.at_most)) return out;
  return Invalid(out.key, "=", std::string(least), "..", std::string(most),
                 ": a range needs numbers, such as ", out.key, "=18..30, ", out.key, "=18.. or ",
                 out.key, "=..30");
}

bool Holds(const Condition& condition, std::string_view value) {
  if (!condition.values.empty()) {
    return std::ranges::find(condition.values, value) != condition.values.end();
  }
  const std::optional<double> number = Number(value);
  return number && (!condition.at_least || *number >= *condition.at_least) &&
         (!condition.at_most || *number <= *condition.at_most);
}

}  // namespace

absl::Status CheckMetadata(const Metadata& metadata) {
  if (metadata.size() > kMaxMetadataPairs) {
    return Invalid(metadata.size(), " pairs of metadata; at most ", kMaxMetadataPairs,
                   " are kept beside a template");
  }
  for (const MetadataPair& pair : metadata) {
    HEFT_RETURN_IF_ERROR(CheckKey(pair.key));
    HEFT_RETURN_IF_ERROR(CheckValue(pair.key, pair.value));
  }
  if (AllDifferent(metadata)) return absl::OkStatus();
  return Invalid("a pair of metadata is given twice");
}

absl::StatusOr<MetadataPair> ParseMetadataPair(std::string_view text) {
  const auto sides = Split(text, "=");
  if (!sides) return Invalid("\"", std::string(text), "\" is not KEY=VALUE, such as site=berlin");
  MetadataPair pair = {std::string(sides->first), std::string(sides->second)};
  HEFT_RETURN_IF_ERROR(CheckMetadata({pair}));
  return pair;
}

absl::StatusOr<Metadata> ParseMetadata(std::span<const std::string> pairs) {
  Metadata metadata;
  for (const std::string& text : pairs) {
    HEFT_ASSIGN_OR_RETURN(MetadataPair pair, ParseMetadataPair(text));
    metadata.push_back(std::move(pair));
  }
  HEFT_RETURN_IF_ERROR(CheckMetadata(metadata));
  return metadata;
}

absl::Status CheckConditions(std::span<const Condition> conditions) {
  if (conditions.size() > kMaxConditions) {
    return Invalid(conditions.size(), " conditions; at most ", kMaxConditions,
                   " may be asked for together");
  }
  for (const Condition& condition : conditions) HEFT_RETURN_IF_ERROR(CheckCondition(condition));
  return absl::OkStatus();
}

absl::StatusOr<Condition> ParseCondition(std::string_view text) {
  const auto sides = Split(text, "=");
  if (!sides) {
    return Invalid("\"", std::string(text),
                   "\" is not a condition: give KEY=VALUE, KEY=VALUE|VALUE or KEY=NUMBER..NUMBER");
  }
  const auto& [key, wanted] = *sides;
  HEFT_RETURN_IF_ERROR(CheckKey(key));
  Condition out;
  if (const auto range = Split(wanted, "..")) {
    HEFT_ASSIGN_OR_RETURN(out, ParseRange(key, range->first, range->second));
  } else {
    out.key = std::string(key);
    out.values = absl::StrSplit(std::string(wanted), '|');
  }
  HEFT_RETURN_IF_ERROR(CheckCondition(out));
  return out;
}

absl::StatusOr<std::vector<Condition>> ParseConditions(std::span<const std::string> texts) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts) {
    HEFT_ASSIGN_OR_RETURN(Condition condition, ParseCondition(text));
    conditions.push_back(std::move(condition));
  }
  HEFT_RETURN_IF_ERROR(CheckConditions(conditions));
  return conditions;
}

std::string ConditionText(const Condition& condition) {
  if (!condition.values.empty()) {
    return absl::StrCat(condition.key, "=", absl::StrJoin(condition.values, "|"));
  }
  return absl::StrCat(condition.key, "=", NumberText(condition.at_least), "..",
                      NumberText(condition.at_most));
}

bool Fits(const Metadata& metadata, std::span<const Condition> conditions) {
  return std::ranges::all_of(conditions, [&](const Condition& condition) {
    return std::ranges::any_of(metadata, [&](const MetadataPair& pair) {
      return pair.key == condition.key && Holds(condition, pair.value);
    });
  });
}

}  // namespace heft
