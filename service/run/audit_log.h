// SPDX-License-Identifier: Apache-2.0
// AuditLog: an append-only file of JSON lines. Each line contains the hash of the line before it,
// so that a changed, missing or moved line is detected. Lines cut off at the end are detected with
// a head that was noted elsewhere (it is in the log line of each signed reply, in metrics, and
// printed by `heft audit LOG`). No biometrics, no scores, no tokens.
//
// A long file is rotated to PATH.N, where N is the number of its last line, and the chain
// continues in a new file: its first line has the hash of the last line in the old one.
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
#include "heft/audit.h"
#include "service/json.h"

namespace heft::service {

class AuditLog {
 public:
  // Opens or begins it (mode 0600), and checks the chain of the last `checked` bytes
  // (VerifyAuditLog checks all). Drops half a line that a crash left at the end, and records this
  // in a line. kDataLoss if the chain is broken before that; kUnavailable if another process has it
  // open. `longest`: from this size in bytes a file is rotated before the next line; 0: never.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                        uint64_t checked = 16 << 20,
                                                        uint64_t longest = 0);
  virtual ~AuditLog() = default;
  // On the disk when it returns (lines of several threads share a sync). `event`: an object; "seq",
  // "time" and "prev" are added. kUnavailable: then the logged action must not be done; later calls
  // try again.
  virtual absl::Status Append(Json event) = 0;
  virtual AuditHead head() const = 0;
  // Read: lines `from` (1 is the first) to `from` + `count` - 1, limited to the file that holds
  // line `from`. kNotFound if that file was rotated and moved away.
  virtual absl::StatusOr<std::vector<Json>> Read(uint64_t from, uint64_t count) const = 0;
};

// VerifyAuditLog: VerifyAuditLogs for one file (heft/audit.h); calls `use` with each line.
absl::StatusOr<AuditHead> VerifyAuditLog(
    const std::string& path, const AuditHead* expected = nullptr,
    const std::function<void(uint64_t line, const Json&)>& use = {},
    const AuditHead* after = nullptr);

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_AUDIT_LOG_H_
