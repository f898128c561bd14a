// SPDX-License-Identifier: Apache-2.0
// The requests that a gallery's server has taken (kind RLOG, docs/formats.md), each until it
// expires, so that a recorded and repeated request is detected. An append-only file beside the
// gallery, for any number of processes.
#ifndef HEFT_GALLERY_REQUEST_LOG_H_
#define HEFT_GALLERY_REQUEST_LOG_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kRequestLogKind = "RLOG";

// RequestId: identifies a request's signed file by its signer and nonce.
using RequestId = std::array<uint8_t, 16>;
RequestId RequestIdOf(const SignerKey& signer, const std::array<uint8_t, 16>& nonce);

// TakenRow: a row of a signed file (kAllRows: all rows), and when the file expires.
struct TakenRow {
  RequestId id{};
  uint64_t row = 0;
  uint64_t expires = 0;
  bool operator==(const TakenRow&) const = default;
};

// RequestRecords: the records in a log's bytes. A record that was cut off by a power failure was
// never answered: it is left out, and `torn` says that the file must be rewritten.
struct RequestRecords {
  std::vector<TakenRow> rows;
  bool torn = false;
};
// kDataLoss, also for damage that is not at the end.
absl::StatusOr<RequestRecords> ParseRequestLog(ByteSpan bytes, std::string_view what);
std::vector<uint8_t> SerializeRequestLog(std::span<const TakenRow> rows);

// RequestLog: for the gallery in a folder, where it creates `requests.heft` (mode 0600) and
// `requests.lock`.
class RequestLog {
 public:
  // kMaxRows: with so many rows, no request is taken until some have expired. If each lives for a
  // day (kLongestRequest), a server reaches this at twelve requests a second.
  static constexpr size_t kMaxRows = size_t{1} << 20;
  // kMaxFiles: the most files of a request.
  static constexpr size_t kMaxFiles = 64;

  explicit RequestLog(const std::string& folder) : path_(folder + "/requests") {}

  // Lock: no request is taken while the result lives.
  absl::StatusOr<FileLock> Lock() const { return FileLock::Take(path_ + ".lock", 0600); }
  std::string File() const { return path_ + ".heft"; }

  // Take: writes the rows of one request and flushes them, unless one of them exists; then it
  // returns that one. Rows that expired before `now`, by more than clocks may differ, are deleted.
  // One caller at a time; other threads and processes wait. kResourceExhausted, kInvalidArgument
  // for more than kMaxFiles, kUnavailable, kDataLoss.
  absl::StatusOr<std::optional<size_t>> Take(std::span<const TakenRow> request, uint64_t now) const;

 private:
  absl::StatusOr<RequestRecords> Read(uint64_t* size) const;

  std::string path_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_REQUEST_LOG_H_
