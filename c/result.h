// SPDX-License-Identifier: Apache-2.0
// Parts of results (heft/c/base.h) that several calls have in common.
#ifndef HEFT_C_RESULT_H_
#define HEFT_C_RESULT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/files.h"
#include "heft/results.h"
#include "heft/trust.h"

namespace heft::c {

std::string Hex(std::span<const uint8_t> bytes);
// FileList: files as base64, as in records.
Json FileList(const std::vector<std::vector<uint8_t>>& files);
// ReadFileList: files from base64; `what` names them.
absl::StatusOr<std::vector<std::vector<uint8_t>>> ReadFileList(
    const std::vector<std::string>& texts, const char* what);
// StatementJson: as in heft_open_signed.
Json StatementJson(const SignedFile& file);
// HexList: an array of ids.
template <typename Bytes>
Json HexList(const std::vector<Bytes>& list) {
  Json json = Json::array();
  for (const auto& bytes : list) json.push_back(Hex(bytes));
  return json;
}

// RecordJson: a record, or an array of records, with times as integers.
template <typename Record>
Json RecordJson(const Record& record) {
  return ToJson(record, Times::kSeconds);
}

// WithReasons: a record, and why its `overwritten` or `recorded` is false, as text in the members
// overwritten_error and recorded_error; empty if it is true.
template <typename Record>
Json WithReasons(const Record& record) {
  Json json = RecordJson(record);
  if constexpr (requires { record.overwritten.message(); }) {
    json["overwritten_error"] = std::string(record.overwritten.message());
  }
  if constexpr (requires { record.recorded.message(); }) {
    json["recorded_error"] = std::string(record.recorded.message());
  }
  return json;
}

}  // namespace heft::c

#endif  // HEFT_C_RESULT_H_
