// SPDX-License-Identifier: Apache-2.0
// AuditLog: an append-only file of JSON lines, each with the hash of the one before it, so that a
// line that is changed, left out or moved shows; what is cut off at the end shows against a head
// that somebody has noted elsewhere (it is in each signed reply's log line, in metrics, and printed
// by `heft audit-log verify`). No biometrics, no scores, no tokens.
//
// A file that has become long is put aside as PATH.N, N the number of its last line, and the chain
// goes on in a new one: its first line has the hash of the former's last, as every line has that of
// the one before it.
#ifndef HEFT_SERVICE_RUN_AUDIT_LOG_H_
#define HEFT_SERVICE_RUN_AUDIT_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/audit_log.h"
#include "service/json.h"

namespace heft::service {

class AuditLog {
 public:
  // Opens or begins it (mode 0600), checks the chain of the last `checked` bytes (VerifyAuditLog
  // checks all), drops a half line at the end that a crash left and says so in a line. kDataLoss
  // where the chain is broken before that; kUnavailable where another process has it.
  // `longest`: bytes from which on a file is put aside before the next line; 0: never.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                        uint64_t checked = 16 << 20,
                                                        uint64_t longest = 0);
  virtual ~AuditLog() = default;
  // On the disk when it returns (several threads' lines share a sync). `event`: an object; "seq",
  // "time" and "prev" are added. kUnavailable: then what was to be logged must not be done; the
  // next is tried anew.
  virtual absl::Status Append(Json event) = 0;
  virtual AuditHead head() const = 0;
  // Read: lines `from` (1 is the first) to `from` + `count` - 1, as far as they are in the file
  // that line `from` is in. kNotFound where that was put aside, and is not beside this one any
  // more.
  virtual absl::StatusOr<std::vector<Json>> Read(uint64_t from, uint64_t count) const = 0;
};

// VerifyAuditLog: VerifyAuditLogs of one file (heft/audit_log.h); `use` gets each line.
absl::StatusOr<AuditHead> VerifyAuditLog(
    const std::string& path, const AuditHead* expected = nullptr,
    const std::function<void(uint64_t line, const Json&)>& use = {},
    const AuditHead* after = nullptr);

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_AUDIT_LOG_H_
