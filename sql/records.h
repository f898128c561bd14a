// SPDX-License-Identifier: Apache-2.0
// Records as rows of their composite types (sql/records.sql), which scripts/make-records writes.
#ifndef HEFT_SQL_RECORDS_H_
#define HEFT_SQL_RECORDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/bytes.h"
#include "heft/results.h"
#include "sql/job.h"

namespace heft::sql {

template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
Field ValueOf(Number value) {
  if constexpr (std::is_same_v<Number, bool>) return value;
  return static_cast<int64_t>(value);
}
inline Field ValueOf(const std::string& text) { return text; }
inline Field ValueOf(const absl::Status& status) { return status.ok(); }
template <size_t N>
Field ValueOf(const std::array<uint8_t, N>& bytes) {
  if (bytes == std::array<uint8_t, N>{}) return Null();
  return HexString(bytes);
}
template <typename T>
Field ValueOf(const std::optional<T>& value) {
  if (!value) return Null();
  return ValueOf(*value);
}
// TimeOf: Unix seconds; NULL for 0.
inline Field TimeOf(uint64_t seconds) {
  if (seconds == 0) return Null();
  return static_cast<int64_t>(seconds);
}

Record RowOf(const EnrolResult& record);
Record RowOf(const ActivateResult& record);
Record RowOf(const RemoveResult& record);
Record RowOf(const GalleryInfo& record);

}  // namespace heft::sql

#endif  // HEFT_SQL_RECORDS_H_
