// SPDX-License-Identifier: Apache-2.0
// Removal: erases people from a gallery, and renews and compacts blocks together with the key
// owner, which sees only pads (docs/gallery.md, "Removal"). Link heft::server.
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
  // If `trust` lists registrars, one of them must have allowed the removal (AuthorisedAct::kRemove)
  // of a single identity. Otherwise the server's operator decides.
  std::vector<uint8_t> authorisation;
  const Trust* trust = nullptr;
};

// RemoveResult: templates that are no longer matched, and the state of their ciphertexts.
struct RemoveResult {
  size_t removed = 0;
  size_t erased = 0;    // removed exactly, or no template is left in their blocks
  size_t leaving = 0;   // their ciphertexts stay until AskRenewal and Renew
  size_t rejected = 0;  // pending enrolments that were deleted
  uint64_t generation = 0;
  // Persons removed, 32 hexadecimal digits each, as in receipts.
  std::vector<std::string> persons;
  // Signed receipts (kind RCPT) for erased templates, including earlier ones from a block that is
  // now empty.
  std::vector<std::vector<uint8_t>> receipts;
  // Why deleted data could not be overwritten yet: a process has read an older generation for
  // longer than SetWriterWait. The next change overwrites it; until then there is no receipt. A
  // store in a database cannot overwrite (ErasureRemains).
  absl::Status overwritten;
};

// ErasureRemains: a sentence for people that says which remains of erased templates are kept,
// where, and for how long. Empty for a store in a folder, which keeps none. Errors of
// Gallery::Open.
HEFT_EXPORT absl::StatusOr<std::string> ErasureRemains(const std::string& gallery);

// Remove: removes all templates of these identities in one change: all or none. kNotFound for an
// identity without templates. kFailedPrecondition without a required authorisation, or for an
// identity that is pending together with templates of others; kUnavailable as in Server::Enrol.
HEFT_EXPORT absl::StatusOr<RemoveResult> Remove(const Server& server, const std::string& gallery,
                                                const std::vector<std::string>& identities,
                                                const RemoveOptions& options = {});
// RemoveExpired: removes all templates that have expired.
HEFT_EXPORT absl::StatusOr<RemoveResult> RemoveExpired(const Server& server,
                                                       const std::string& gallery);
// RollBack: removes all templates that were enrolled after `generation`, if their entries are still
// in the journal. Templates that were removed since do not come back: erasure goes before rollback.
// kFailedPrecondition if some were enrolled in bulk or too long ago: Remove can remove them. On
// error nothing has changed.
HEFT_EXPORT absl::StatusOr<RemoveResult> RollBack(const Server& server, const std::string& gallery,
                                                  uint64_t generation);

// RejectPending: deletes pending enrolments, by their entries (PendingEnrolment), and overwrites
// their bytes. For those that are damaged, which the key owner cannot decide. kNotFound for an
// entry that is not pending; nothing is changed then.
HEFT_EXPORT absl::StatusOr<RemoveResult> RejectPending(const Server& server,
                                                       const std::string& gallery,
                                                       std::span<const Digest> entries);

struct RenewalOptions {
  bool compact = false;  // also merges sparse blocks
};
// AskRenewal: a request (kind RNRQ) for KeyOwner::Renew with the blocks that templates leave: about
// 3 MB each at 32 dimensions, at most 64 blocks and 256 MiB. No template joins these blocks until
// the answer arrives, for at most a day. kNotFound if there is nothing to renew.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> AskRenewal(const Server& server,
                                                            const std::string& gallery,
                                                            const RenewalOptions& options = {},
                                                            const Monitor& monitor = {});

struct RenewResult {
  size_t blocks = 0;   // renewed
  size_t freed = 0;    // blocks that are now empty
  size_t moved = 0;    // templates in a new position
  size_t erased = 0;   // templates erased
  size_t leaving = 0;  // templates that still wait for a renewal
  uint64_t generation = 0;
  std::vector<std::vector<uint8_t>> receipts;
  absl::Status overwritten;  // as RemoveResult::overwritten
};
// Renew: replaces the blocks with the key owner's answer, signed by one of `trust`. Errors of
// OpenSigned; kFailedPrecondition for an answer to no open request.
HEFT_EXPORT absl::StatusOr<RenewResult> Renew(const Server& server, const std::string& gallery,
                                              std::span<const uint8_t> answer,
                                              std::string_view what, const Trust& trust);
HEFT_EXPORT absl::StatusOr<RenewResult> Renew(const Server& server, const std::string& gallery,
                                              std::span<const uint8_t> answer,
                                              std::string_view what, const SignerKey& key_owner);

// EraseRemains: overwrites data that could not be overwritten before, and issues the receipts that
// were due.
HEFT_EXPORT absl::StatusOr<std::vector<std::vector<uint8_t>>> EraseRemains(
    const std::string& gallery);

// Receipts: all receipts that the gallery has issued, oldest first.
HEFT_EXPORT absl::StatusOr<std::vector<std::vector<uint8_t>>> Receipts(const std::string& gallery);

// ErasureReceipt: the content of a signed receipt. OpenSigned checks its signature.
struct ErasureReceipt {
  GalleryId gallery{};
  uint64_t generation = 0;  // the first one without them
  uint64_t erased = 0;      // Unix seconds at which the store held nothing more of them
  // The erased persons, without those who have other templates in the gallery, matched or waiting
  // for a renewal.
  std::vector<std::string> persons;
  std::vector<uint64_t> removed;  // Unix seconds at which each was no longer matched
};
HEFT_EXPORT absl::StatusOr<ErasureReceipt> ReadReceipt(std::span<const uint8_t> receipt,
                                                       std::string_view what);

}  // namespace heft

#endif  // HEFT_REMOVAL_H_
