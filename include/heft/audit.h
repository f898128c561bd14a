// SPDX-License-Identifier: Apache-2.0
// Checking a server: whoever has a copy of a gallery, the evaluation keys and the files of a
// request makes a reply again and compares it bit for bit. Nothing of this can decrypt. Link
// heft::server.
//
//   heft::MakeAuditKey("gallery");                                        // the server, once
//   auto seed = heft::RevealSeed("gallery", key, reply, "reply");         // and when it is asked
//   auto sound = heft::AuditGallery(server, copy, state, trust, "state");
//   auto finding = heft::AuditReply(server, copy, trust, {reply, *seed, {files}});
//
// All random choices of a reply follow from a seed, to which the reply commits. With the secret
// key, the seed of a verification shows the other scores that its noise hides. The seed of an
// identification shows the factor that proves its norm, which no other request has (SECURITY.md,
// "Checking the server").
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
#include "heft/described.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/server.h"
#include "heft/serving.h"
#include "heft/trust.h"

namespace heft {

// MakeAuditKey: the secret that the seeds of a gallery's replies are derived from,
// FOLDER/audit.key (mode 0600), where there is none: from then on Server's replies commit to their
// seeds. kUnavailable, kDataLoss.
HEFT_EXPORT absl::Status MakeAuditKey(const std::string& folder);

// RevealSeed: the seed of a reply that `server` has signed (kind SEED), from the gallery's folder.
// kFailedPrecondition for another's reply, for one that commits to none, and for one of another
// gallery or audit key; kNotFound without an audit key.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> RevealSeed(const std::string& folder,
                                                            const SignerKey& server,
                                                            std::span<const uint8_t> reply,
                                                            std::string_view what);

// ChooseForAudit: which of so many replies to audit, one in `one_in` of them and one at least, by
// fresh randomness, so that no server knows which. Rising.
HEFT_EXPORT std::vector<size_t> ChooseForAudit(size_t replies, size_t one_in);

// Audited: a reply and all that it was made of.
struct Audited {
  std::vector<uint8_t> reply;  // as it came, signed
  std::vector<uint8_t> seed;   // RevealSeed's
  // The files of requests, as they were sent: of the one that it answers, and any others.
  std::vector<std::vector<SampleFile>> requests;
};

// AuditFinding: what an audit has found.
struct AuditFinding {
  bool right = false;
  std::string reason;  // what is wrong; empty if nothing is
};

// AuditReply: whether a server of `trust` has made this reply from the gallery of which `copy` is a
// copy. A reply that is none of it, or cannot be judged, is an error: OpenSigned's but for its age;
// kFailedPrecondition for a reply to other files, or of another gallery or generation than the
// copy's; kDataLoss for a copy that is damaged.
HEFT_EXPORT absl::StatusOr<AuditFinding> AuditReply(const Server& server, const Gallery& copy,
                                                    const Trust& trust, const Audited& audited);

// AuditGallery: whether a key owner of `trust` has signed this very gallery, block by block.
// `state` is the admission that says so, FOLDER/state.heft. Reads all blocks. Errors as
// AuditReply's, of the state.
HEFT_EXPORT absl::StatusOr<AuditFinding> AuditGallery(const Server& server, const Gallery& copy,
                                                      std::span<const uint8_t> state,
                                                      const Trust& trust, std::string_view what);

// AuditFiles: what several audits of one gallery's replies read.
struct AuditFiles {
  std::string copy;                         // of the gallery's folder
  std::vector<std::string> replies, seeds;  // a seed for each, in the same order
  std::vector<std::string> requests;        // each a file, or a folder with its files and no others
  size_t one_in = 1;                        // of the replies, ChooseForAudit
  bool with_state = true;                   // AuditGallery first
  std::string state;                        // empty: StateFile(copy)
};
struct NamedFinding {
  std::string what;  // a reply's file, or the copy
  AuditFinding finding;
};
// AuditAll: of the state and of each reply that is chosen; a state that nobody has signed is a
// finding. kInvalidArgument unless there are as many seeds as replies, and for a server without
// trust; errors of ReadFile and Gallery::Open, and those of AuditGallery and AuditReply, which name
// the file.
HEFT_EXPORT absl::StatusOr<std::vector<NamedFinding>> AuditAll(const TrustedServer& server,
                                                               const AuditFiles& files);
// DescribeFindings: with how many are wrong.
HEFT_EXPORT Described DescribeFindings(std::span<const NamedFinding> findings);

}  // namespace heft

#endif  // HEFT_AUDIT_H_
