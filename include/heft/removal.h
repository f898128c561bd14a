// SPDX-License-Identifier: Apache-2.0
// Removal: people leave a gallery for good, and blocks are renewed and compacted together with the
// key owner, who sees pads alone (docs/gallery.md, "Removal"). Link heft::server.
//
//   auto removed = heft::Remove(*server, "gallery", {"ann"});
//   if (removed->leaving > 0) {  // her templates are in no journal any more
//     auto request = heft::AskRenewal(*server, "gallery");           // -> KeyOwner::Renew
//     auto done = heft::Renew(*server, "gallery", answer, "answer", trust);
//   }
#ifndef HEFT_REMOVAL_H_
#define HEFT_REMOVAL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/progress.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

struct RemoveOptions {
  // Where `trust` lists registrars, one of them must have allowed it (AuthorisedAct::kRemove), for
  // a single identity; otherwise who runs the server decides.
  std::vector<uint8_t> authorisation;
  const Trust* trust = nullptr;
};

// RemoveResult: templates that answer nobody any more, and what is left of them.
struct RemoveResult {
  size_t removed = 0;
  size_t erased = 0;    // nothing: taken back exactly, or nobody is left in their blocks
  size_t leaving = 0;   // ciphertexts, until AskRenewal and Renew
  size_t rejected = 0;  // enrolments that waited, and are gone
  uint64_t generation = 0;
  // Of those removed, 32 hexadecimal digits each: by these, receipts name them.
  std::vector<std::string> persons;
  // Signed receipts (kind RCPT) of what is erased, also of who left a block before in which nobody
  // is left now.
  std::vector<std::vector<uint8_t>> receipts;
  // Why nothing could be overwritten yet, where somebody reads an older generation for longer than
  // SetWriterWait: it is done with the next change. Until then there is no receipt. A store in a
  // database cannot overwrite: ErasureRemains.
  absl::Status overwritten;
};

// ErasureRemains: what is left, where, and for how long, of what is erased from this gallery: a
// sentence for people. Empty for a store in a folder: nothing. Errors of Gallery::Open.
HEFT_EXPORT absl::StatusOr<std::string> ErasureRemains(const std::string& gallery);

// Remove: all templates of these identities, in one change: all or none. kNotFound for one that has
// none. kFailedPrecondition without an authorisation that is needed, or for an identity that waits
// with others' templates; kUnavailable as elsewhere.
HEFT_EXPORT absl::StatusOr<RemoveResult> Remove(const Server& server, const std::string& gallery,
                                                const std::vector<std::string>& identities,
                                                const RemoveOptions& options = {});
// RemoveExpired: all that have expired.
HEFT_EXPORT absl::StatusOr<RemoveResult> RemoveExpired(const Server& server,
                                                       const std::string& gallery);
// RollBack: all that were enrolled after `generation`, while their entries are in the journal. What
// was removed since does not come back: erasure goes before rollback. kFailedPrecondition where
// some of them came in bulk or too long ago: they can be removed, not rolled back; nothing has
// changed.
HEFT_EXPORT absl::StatusOr<RemoveResult> RollBack(const Server& server, const std::string& gallery,
                                                  uint64_t generation);

struct RenewalOptions {
  bool compact = false;  // sparse blocks become few
};
// AskRenewal: a request (kind RNRQ) for KeyOwner::Renew: blocks that templates leave, some 3 MB
// each at 32 dimensions, at most 64 and 256 MiB at once. Nothing joins them until the answer is
// there, for a day at most. kNotFound where there is nothing to renew.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> AskRenewal(const Server& server,
                                                            const std::string& gallery,
                                                            const RenewalOptions& options = {},
                                                            const Monitor& monitor = {});

struct RenewResult {
  size_t blocks = 0;   // renewed
  size_t freed = 0;    // blocks that hold nothing any more
  size_t moved = 0;    // templates that stand elsewhere
  size_t erased = 0;   // templates that are gone
  size_t leaving = 0;  // that still wait for a renewal
  uint64_t generation = 0;
  std::vector<std::vector<uint8_t>> receipts;
  absl::Status overwritten;  // as RemoveResult's
};
// Renew: what the key owner answered, signed by one of `trust`, takes the place of the blocks.
// Errors of OpenSigned; kFailedPrecondition for an answer to no request that is open.
HEFT_EXPORT absl::StatusOr<RenewResult> Renew(const Server& server, const std::string& gallery,
                                              std::span<const uint8_t> answer,
                                              std::string_view what, const Trust& trust);
HEFT_EXPORT absl::StatusOr<RenewResult> Renew(const Server& server, const std::string& gallery,
                                              std::span<const uint8_t> answer,
                                              std::string_view what, const SignerKey& key_owner);

// EraseRemains: overwrites what could not be overwritten before, and gives the receipts that were
// due.
HEFT_EXPORT absl::StatusOr<std::vector<std::vector<uint8_t>>> EraseRemains(
    const std::string& gallery);

// Receipts: all that the gallery has given, oldest first.
HEFT_EXPORT absl::StatusOr<std::vector<std::vector<uint8_t>>> Receipts(const std::string& gallery);

// ErasureReceipt: what a signed receipt says; check its signature with OpenSigned.
struct ErasureReceipt {
  GalleryId gallery{};
  uint64_t generation = 0;  // in which they were gone
  uint64_t erased = 0;      // Unix seconds, when nothing of them was left in the store
  // Who: nobody of whom a template stands, or leaves, elsewhere in the gallery.
  std::vector<std::string> persons;
  std::vector<uint64_t> removed;  // Unix seconds, of each of them: when he answered no more
};
HEFT_EXPORT absl::StatusOr<ErasureReceipt> ReadReceipt(std::span<const uint8_t> receipt,
                                                       std::string_view what);

}  // namespace heft

#endif  // HEFT_REMOVAL_H_
