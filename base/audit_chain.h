// SPDX-License-Identifier: Apache-2.0
// Reading an audit log (heft/audit_log.h): the chain of its lines, and the files that were put
// aside. service/run/audit_log.h writes them.
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
#include "heft/audit_log.h"

namespace heft::audit {

// kMostLine: bytes of a line that is written, without its end.
inline constexpr size_t kMostLine = 64 << 10;

// NoHash: what the first line of a chain follows.
std::string NoHash();
std::string HashOf(std::string_view line);
// NumberOf: a line's "seq"; 0 where it has none.
uint64_t NumberOf(const std::string& line);
// CannotDo: kUnavailable, from errno.
absl::Status CannotDo(std::string_view what, const std::string& path);

// Chain: the lines of a file as far as they hold together.
struct Chain {
  AuditHead head;
  uint64_t bytes = 0;  // of whole lines
  bool torn = false;   // more comes after them, without a line's end
  std::string last;    // the torn line
};

// ReadChain: of the file's last `last` bytes, where those before are believed; `expected` and
// `after` as VerifyAuditLogs'. `use` gets each line, with its number.
using UseLine = std::function<void(uint64_t number, const std::string& line)>;
absl::StatusOr<Chain> ReadChain(const std::string& path, const AuditHead* expected,
                                const UseLine& use, const AuditHead& after,
                                uint64_t last = UINT64_MAX);

// Aside: files that were put aside, by the numbers of their last lines.
using Aside = std::map<uint64_t, std::string>;
Aside FindAside(const std::string& path);

// HeadBeforeOf: what the first line of the file at `path` is to follow: the end of the youngest
// file that was put aside. kDataLoss with what to do where that is not there.
absl::StatusOr<AuditHead> HeadBeforeOf(const std::string& path, const Aside& aside);

// Seek: to a line at most two of the longest before number `from` in a file of `bytes`; lines are
// numbered in order.
void Seek(std::ifstream* file, uint64_t bytes, uint64_t from);

}  // namespace heft::audit

#endif  // HEFT_BASE_AUDIT_CHAIN_H_
