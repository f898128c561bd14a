// SPDX-License-Identifier: Apache-2.0
// The requests that a gallery's server has taken, each until it expires, so that a recorded and
// repeated request is detected. They are in the folder's table `once.sqlite` (store/once.h).
#ifndef HEFT_GALLERY_REQUEST_LOG_H_
#define HEFT_GALLERY_REQUEST_LOG_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "heft/trust.h"

namespace heft {

// RequestId: identifies a request's signed file by its signer and nonce.
using RequestId = std::array<uint8_t, 16>;
RequestId RequestIdOf(const SignerKey& signer, const std::array<uint8_t, 16>& nonce);

// TakenRow: a row of a signed file (kAllRows: all rows), and when the file expires.
struct TakenRow {
  RequestId id{};
  uint64_t row = 0;
  uint64_t expires = 0;
};

// RequestLog: for the gallery in a folder.
class RequestLog {
 public:
  // kMaxRows: with so many rows, no request is taken until some have expired. If each lives for a
  // day (kLongestRequest), a server reaches this at twelve requests a second.
  static constexpr uint64_t kMaxRows = uint64_t{1} << 20;

  explicit RequestLog(const std::string& folder);

  // Lock: no request is taken while the result lives.
  absl::StatusOr<FileLock> Lock() const;
  // CopyTo: replaces another folder's log by a copy of this one, if this one exists.
  absl::Status CopyTo(const std::string& folder) const;

  // Take: writes the rows of one request and flushes them, unless one of them exists; then it
  // returns that one. A row is kept until it expired before `now` by more than clocks may differ.
  // kResourceExhausted, kUnavailable, kDataLoss.
  absl::StatusOr<std::optional<size_t>> Take(std::span<const TakenRow> request, uint64_t now) const;

 private:
  const std::string path_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_REQUEST_LOG_H_
