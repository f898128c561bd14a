// SPDX-License-Identifier: Apache-2.0
// Checking a server: an auditor with a copy of a gallery, the evaluation keys and the files of a
// request computes a reply again and compares it bit for bit. An auditor cannot decrypt. Link
// heft::server.
//
//   heft::MakeAuditKey("gallery");                                        // the server, once
//   auto seed = heft::RevealSeed("gallery", key, reply, "reply");         // and when it is asked
//   auto sound = heft::AuditGallery(server, copy, state, trust, "state");
//   auto finding = heft::AuditReply(server, copy, trust, {reply, *seed, {files}});
//
// All random choices of a reply follow from a seed, and the reply commits to it. To a holder of the
// secret key, the seed of a verification reveals the other scores, which its noise hides. The seed
// of an identification reveals the factor that proves its norm, which no other request uses
// (SECURITY.md, "Checking the server").
#ifndef HEFT_AUDIT_H_
#define HEFT_AUDIT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/desk.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// MakeAuditKey: creates FOLDER/audit.key (mode 0600), if it does not exist. The seeds of the
// gallery's replies are derived from it, and from then on Server's replies commit to their seeds.
// kUnavailable, kDataLoss.
HEFT_EXPORT absl::Status MakeAuditKey(const std::string& folder);

// RevealSeed: the seed (kind SEED) of a reply that `server` signed, computed from the gallery's
// folder. kFailedPrecondition for a reply of another server, gallery or audit key, and for one
// without a commitment; kNotFound without an audit key.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> RevealSeed(const std::string& folder,
                                                            const SignerKey& server,
                                                            std::span<const uint8_t> reply,
                                                            std::string_view what);

// ChooseForAudit: which of `replies` to audit: one in `one_in`, at least one, in rising order.
// Chosen by fresh randomness, so that no server can predict it.
HEFT_EXPORT std::vector<size_t> ChooseForAudit(size_t replies, size_t one_in);

// Audited: a reply and its inputs.
struct Audited {
  std::vector<uint8_t> reply;  // as received, signed
  std::vector<uint8_t> seed;   // RevealSeed's
  // The files of requests, as they were sent: the answered one and any others.
  std::vector<std::vector<SampleFile>> requests;
};

// AuditFinding: the result of an audit.
struct AuditFinding {
  bool right = false;  // whether everything is correct
  std::string reason;  // what is wrong; empty if nothing is
};

// AuditReply: whether a server of `trust` computed this reply from the gallery that `copy` is a
// copy of. A reply that cannot be judged is an error: errors of OpenSigned, except that age is
// ignored; kFailedPrecondition for a reply to other files, or of another gallery or generation than
// the copy's; kDataLoss for a damaged copy.
HEFT_EXPORT absl::StatusOr<AuditFinding> AuditReply(const Server& server, const Gallery& copy,
                                                    const Trust& trust, const Audited& audited);

// AuditGallery: whether a key owner of `trust` signed exactly this gallery, block by block. `state`
// is the admission that certifies it, FOLDER/state.heft. Reads all blocks. Errors of AuditReply,
// for the state.
HEFT_EXPORT absl::StatusOr<AuditFinding> AuditGallery(const Server& server, const Gallery& copy,
                                                      std::span<const uint8_t> state,
                                                      const Trust& trust, std::string_view what);

// AuditFiles: inputs of several audits of one gallery's replies.
struct AuditFiles {
  std::string copy;                         // the copied gallery's folder
  std::vector<std::string> replies, seeds;  // one seed for each reply, in the same order
  std::vector<std::string> requests;        // each a file, or a folder of files of one request
  size_t one_in = 1;                        // of the replies (ChooseForAudit)
  bool with_state = true;                   // also AuditGallery, first
  std::string state;                        // empty: StateFile(copy)
};
struct NamedFinding {
  std::string what;  // a reply's file, or the copy
  AuditFinding finding;
};
// AuditAll: audits the state and each chosen reply; an unsigned state is a finding.
// kInvalidArgument unless there is one seed for each reply, and for a server without trust; errors
// of ReadFile, Gallery::Open, AuditGallery and AuditReply, which name the file.
HEFT_EXPORT absl::StatusOr<std::vector<NamedFinding>> AuditAll(const TrustedServer& server,
                                                               const AuditFiles& files);
// DescribeFindings: all findings, with the number of wrong replies.
HEFT_EXPORT Described DescribeFindings(std::span<const NamedFinding> findings);

// Checks the audit logs of heft-matcher and heft-decider. A log is lines of JSON, and each line has
// the hash of the line before, so that a changed, missing or moved line is detected. A truncated
// end is detected with a head that was noted elsewhere (docs/operations.md). Link heft::server.
//
//   auto head = heft::VerifyAuditLogs({"audit.log.81200", "audit.log"}, &noted);

// AuditHead: the number of lines of a log, and the hexadecimal SHA-256 of its last line. For no
// lines the hash is zeros or empty.
struct AuditHead {
  uint64_t lines = 0;  // number of lines
  std::string hash;    // hash of the last line, hexadecimal
};

// ParseAuditHead: "LINES:HASH", as `heft audit LOG` prints it. kInvalidArgument.
HEFT_EXPORT absl::StatusOr<AuditHead> ParseAuditHead(std::string_view text, std::string_view what);

// VerifyAuditLogs: checks files, oldest first, as one chain. A line that is still being written is
// ignored. `expected`: a head noted earlier, which must be on the chain. `after`: the head before
// the first line, if earlier files are not given. kDataLoss names the wrong line, or says that the
// files have no whole line, which proves nothing; kInvalidArgument for no files, and for an
// `expected` that is older than `after` and so in none of the files; kNotFound, kUnavailable.
HEFT_EXPORT absl::StatusOr<AuditHead> VerifyAuditLogs(const std::vector<std::string>& paths,
                                                      const AuditHead* expected = nullptr,
                                                      const AuditHead* after = nullptr);

}  // namespace heft

#endif  // HEFT_AUDIT_H_
