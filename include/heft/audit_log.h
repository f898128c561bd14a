// SPDX-License-Identifier: Apache-2.0
// Audit logs of heft-matcher and heft-decider: whether they hold together. A log is lines of JSON,
// of which each has the hash of the one before it, so that a line that is changed, left out or
// moved shows; what is cut off at the end shows against a head that was noted elsewhere
// (docs/operations.md). Link heft::server.
//
//   auto head = heft::VerifyAuditLogs({"audit.log.81200", "audit.log"}, &noted);
#ifndef HEFT_AUDIT_LOG_H_
#define HEFT_AUDIT_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

// AuditHead: how far a log goes, and the BLAKE2b-256 of its last line, hexadecimal; of no lines
// zeros, or nothing.
struct AuditHead {
  uint64_t lines = 0;
  std::string hash;
};

// ParseAuditHead: "LINES:HASH", as `heft audit-log verify` prints it. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<AuditHead> ParseAuditHead(std::string_view text, std::string_view what);

// VerifyAuditLogs: of files in their order, the oldest first, as one chain; a line that is being
// written counts as none. `expected`: a head noted earlier, which must be on the chain. `after`:
// the head that the first line follows, where files before it are not given. kDataLoss says which
// line is wrong; kInvalidArgument for an `expected` that is older than `after`, which is in none of
// the files, and for no files; kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<AuditHead> VerifyAuditLogs(const std::vector<std::string>& paths,
                                                      const AuditHead* expected = nullptr,
                                                      const AuditHead* after = nullptr);

}  // namespace heft

#endif  // HEFT_AUDIT_LOG_H_
