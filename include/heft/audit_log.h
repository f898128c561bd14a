// SPDX-License-Identifier: Apache-2.0
// Checks the audit logs of heft-matcher and heft-decider. A log is lines of JSON, and each line has
// the hash of the line before, so that a changed, missing or moved line is detected. A truncated
// end is detected with a head that was noted elsewhere (docs/operations.md). Link heft::server.
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

// AuditHead: the number of lines of a log, and the hexadecimal BLAKE2b-256 of its last line. For no
// lines the hash is zeros or empty.
struct AuditHead {
  uint64_t lines = 0;
  std::string hash;
};

// ParseAuditHead: "LINES:HASH", as `heft audit LOG` prints it. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<AuditHead> ParseAuditHead(std::string_view text, std::string_view what);

// VerifyAuditLogs: checks files, oldest first, as one chain. A line that is still being written is
// ignored. `expected`: a head noted earlier, which must be on the chain. `after`: the head before
// the first line, if earlier files are not given. kDataLoss names the wrong line; kInvalidArgument
// for no files, and for an `expected` that is older than `after` and so in none of the files;
// kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<AuditHead> VerifyAuditLogs(const std::vector<std::string>& paths,
                                                      const AuditHead* expected = nullptr,
                                                      const AuditHead* after = nullptr);

}  // namespace heft

#endif  // HEFT_AUDIT_LOG_H_
