// SPDX-License-Identifier: Apache-2.0
// JsonOf: the value of a record's field as JSON, by its type (heft/results.h has the table).
#ifndef HEFT_GALLERY_JSON_OF_H_
#define HEFT_GALLERY_JSON_OF_H_

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/bytes.h"
#include "heft/results.h"

#include "gallery/record_declarations.inc"

namespace heft {

template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
Json JsonOf(Number value) {
  return value;
}
inline Json JsonOf(const std::string& text) { return text; }
inline Json JsonOf(const absl::Status& status) { return status.ok(); }
inline Json JsonOf(ScoreKind kind) { return ScoreKindName(kind); }
inline Json JsonOf(RateOf of) { return RateOfName(of); }
inline Json JsonOf(Likelihood likelihood) { return LikelihoodName(likelihood); }
inline Json JsonOf(TemplateState state) { return TemplateStateName(state); }
inline Json JsonOf(Rejection rejection) { return RejectionName(rejection); }
inline Json JsonOf(const Condition& condition) { return ConditionText(condition); }
inline Json JsonOf(const RateInterval& interval) { return Json::array({interval.lo, interval.hi}); }
inline Json JsonOf(const Metadata& metadata) {
  Json json = Json::object();
  for (const MetadataPair& pair : metadata) json[pair.key].push_back(pair.value);
  return json;
}
// An id, a key or a digest: hexadecimal; empty if it is all zeros, which is none.
template <size_t N>
Json JsonOf(const std::array<uint8_t, N>& bytes) {
  return bytes == std::array<uint8_t, N>{} ? std::string() : HexString(bytes);
}
// A file.
inline Json JsonOf(const std::vector<uint8_t>& file) {
  return absl::Base64Escape(
      absl::string_view(reinterpret_cast<const char*>(file.data()), file.size()));
}

// The same of a field; `times` is for the times in it.
template <typename T>
Json JsonOf(const T& value, Times) {
  return JsonOf(value);
}
inline Json JsonOf(const std::vector<uint8_t>& file, Times) { return JsonOf(file); }
inline Json JsonOf(const Metadata& metadata, Times) { return JsonOf(metadata); }
template <typename T>
Json JsonOf(const std::optional<T>& value, Times times) {
  return value ? JsonOf(*value, times) : Json(nullptr);
}
template <typename T>
Json JsonOf(const std::vector<T>& values, Times times) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(JsonOf(value, times));
  return json;
}
inline Json TimeJson(Timestamp time, Times times) {
  return times == Times::kText ? UtcJson(time) : Json(time);
}
inline Json TimeJson(const std::vector<Timestamp>& values, Times times) {
  Json json = Json::array();
  for (const Timestamp time : values) json.push_back(TimeJson(time, times));
  return json;
}

}  // namespace heft

#endif  // HEFT_GALLERY_JSON_OF_H_
