// SPDX-License-Identifier: Apache-2.0
// Reads an audit log (heft/audit.h): the chain of its lines, and its rotated files.
// service/run/audit_log.h writes them.
#ifndef HEFT_BASE_AUDIT_CHAIN_H_
#define HEFT_BASE_AUDIT_CHAIN_H_

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/audit.h"

namespace heft::audit {

// kMaxLine: maximum bytes of a written line, without its end.
inline constexpr size_t kMaxLine = 64 << 10;

// NoHash: the hash that the first line of a chain follows.
std::string NoHash();
std::string HashOf(std::string_view line);
// NumberOf: a line's "seq"; 0 without one.
uint64_t NumberOf(const std::string& line);
// CannotDo: kUnavailable, from errno.
absl::Status CannotDo(std::string_view what, const std::string& path);

// Chain: the lines of a file up to the last valid one.
struct Chain {
  AuditHead head;
  uint64_t bytes = 0;  // of whole lines
  bool torn = false;   // an incomplete line follows them
  std::string last;    // the torn line
};

// ReadChain: reads the file's last `last` bytes and trusts the lines before. `expected` and `after`
// as in VerifyAuditLogs. `use` receives each line with its number.
using UseLine = std::function<void(uint64_t number, const std::string& line)>;
absl::StatusOr<Chain> ReadChain(const std::string& path, const AuditHead* expected,
                                const UseLine& use, const AuditHead& after,
                                uint64_t last = UINT64_MAX);

// RotatedFiles: rotated files by the numbers of their last lines.
using RotatedFiles = std::map<uint64_t, std::string>;
RotatedFiles FindRotated(const std::string& path);

// HeadBeforeOf: the head that the first line of the file at `path` must follow: the end of the
// youngest rotated file. kDataLoss, with the remedy, if that file is missing.
absl::StatusOr<AuditHead> HeadBeforeOf(const std::string& path, const RotatedFiles& rotated);

// Seek: to a line at most two of the longest lines before number `from` in a file of `bytes` with
// ascending numbers.
void Seek(std::ifstream* file, uint64_t bytes, uint64_t from);

}  // namespace heft::audit

#endif  // HEFT_BASE_AUDIT_CHAIN_H_
