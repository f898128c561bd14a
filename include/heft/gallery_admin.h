// SPDX-License-Identifier: Apache-2.0
// Administration of galleries: their contents and integrity, snapshots, and restoring from
// snapshots (docs/gallery.md, "Commands"). Link heft::server.
//
//   heft::CreateGallery(*server, "store:visitors");
//   auto info = heft::DescribeGallery("store:visitors");
//   auto checked = heft::VerifyGallery("store:visitors", &model);
//   heft::Snapshot("store", "backup/monday");                     // all galleries of the store
//   heft::Restore("backup/monday", "store", {.server = &*server}); // erasure goes before restore
//
// A gallery is named as in heft/gallery.h: FOLDER, or FOLDER:NAME. Parameters called `gallery`
// below take such names.
#ifndef HEFT_GALLERY_ADMIN_H_
#define HEFT_GALLERY_ADMIN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/results.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// DamagedBlocks: blocks that this object, or an earlier generation of it, found damaged and does
// not match, unless they were repaired since. Each with the reason and the remedy.
HEFT_EXPORT std::vector<DamagedBlock> DamagedBlocks(const Gallery& gallery);

// DamagedRecords: all other records that this process has found damaged in the gallery and that
// still are: what each is, and the way out. VerifyGallery looks at all.
HEFT_EXPORT std::vector<std::string> DamagedRecords(const Gallery& gallery);

// Retained: how long, and up to how many bytes, templates stay in the journal after they have
// joined their blocks. Until then they can be removed exactly, without the key owner.
struct Retained {
  uint64_t seconds = 3600;
  uint64_t bytes = uint64_t{1} << 30;
};

// CreateGallery: an empty gallery for templates under the server's model and keys. kAlreadyExists;
// errors of Server::Enrol.
HEFT_EXPORT absl::StatusOr<GalleryId> CreateGallery(const Server& server,
                                                    const std::string& gallery,
                                                    const Retained& retained = {});

// DescribeGallery: reads a few records and no templates. Errors of Gallery::Open;
// kFailedPrecondition for another model.
HEFT_EXPORT absl::StatusOr<GalleryInfo> DescribeGallery(const std::string& gallery,
                                                        const Model* model = nullptr);
// GalleryNames: the names of a store's galleries, in alphabetical order.
HEFT_EXPORT absl::StatusOr<std::vector<std::string>> GalleryNames(const std::string& folder);
// StateFile: where Server::Activate keeps the gallery's latest state that the key owner signed.
HEFT_EXPORT std::string StateFile(const std::string& gallery);

struct ListOptions {
  uint64_t from = 0;   // position
  uint64_t count = 0;  // templates; 0: all
  std::vector<Condition> where = {};
  bool pending = false;  // also pending templates, behind the last position; not with `where`
};
// ListTemplates: passes templates to `use` in the order of positions, without those that wait for a
// renewal. Returns the position to continue from, if there are more; pending templates are not
// counted, and come with the last page. Holds one run of the roster in memory. An error of `use`
// ends the call.
HEFT_EXPORT absl::StatusOr<std::optional<uint64_t>> ListTemplates(
    const std::string& gallery, const ListOptions& options,
    const std::function<absl::Status(const ListedTemplate&)>& use);

// DescribePerson: an identity's templates that are matched or have expired, and the number of its
// pending ones. Empty for an unknown identity. Reads only that identity's records.
HEFT_EXPORT absl::StatusOr<PersonInfo> DescribePerson(const std::string& gallery,
                                                      const std::string& identity);
// PendingEnrolments: the pending ones, oldest first. Errors of Gallery::Open.
HEFT_EXPORT absl::StatusOr<std::vector<PendingEnrolment>> PendingEnrolments(
    const std::string& gallery);

// VerifyGallery: checks everything: each block against its checksum and hash, its residues against
// their primes if `model` is given, the roster, names and samples against each other, the root, and
// the pages of the store. The result lists the damage. The time and the outcome are stored in the
// gallery; `recorded` says why they could not be. kCancelled.
HEFT_EXPORT absl::StatusOr<VerifyResult> VerifyGallery(const std::string& gallery,
                                                       const Model* model = nullptr,
                                                       const Monitor& monitor = {});

// CompactGallery: does the maintenance that needs no key owner. It writes damaged records again,
// rebuilds damaged blocks whose templates are all in the journal, moves the journal into the
// blocks, and overwrites deleted data. Blocks that stay sparse need AskRenewal with `compact`.
HEFT_EXPORT absl::StatusOr<CompactResult> CompactGallery(const Server& server,
                                                         const std::string& gallery);

// Snapshot: copies a store, with all its galleries in one state, into the new folder `out`, while
// others read and write. `folder`: the store, or a gallery in it. The copy includes the server's
// public key, the names of its keys, and the states that the key owner signed. `with_keys` adds the
// secret keys and the log of requests (mode 0600), which make the copy a server. kAlreadyExists;
// kCancelled, which leaves no files.
HEFT_EXPORT absl::StatusOr<std::vector<CopiedGallery>> Snapshot(const std::string& folder,
                                                                const std::string& out,
                                                                bool with_keys = false,
                                                                const Monitor& monitor = {});

// RememberGeneration: records now that this gallery has reached its generation, in this user's
// state folder ($HEFT_STATE_DIR, else $XDG_STATE_HOME/heft, else ~/.local/state/heft). An older
// copy is then detected even if all other files are lost. Changes of a gallery do this at times,
// and erasures always (gallery/remembered.h).
HEFT_EXPORT absl::Status RememberGeneration(const std::string& gallery);

struct RestoreOptions {
  // Accepts a copy that is older than the replaced store or than the remembered generation.
  bool accept_older = false;
  // Removes again the people who were erased since the copy was made; required if there are any.
  const Server* server = nullptr;
  // Receipts of erasure that the replaced store lacks. Each must be signed by its server, by the
  // snapshot's server, or by a signer that `trust` lists.
  std::vector<std::vector<uint8_t>> receipts = {};
  const Trust* trust = nullptr;
  // Accepts an older copy even if the receipts of a damaged store cannot be read and none are
  // given: erased people may then be enrolled again.
  bool without_receipts = false;
};
// Restore: replaces the store in `folder`, if there is one, with the store of a snapshot, in one
// step. The server's own files stay; missing ones are taken from the snapshot. kFailedPrecondition,
// unless `accept_older`, if the snapshot is older, lacks a gallery of the replaced store, or its
// age is unknown. kFailedPrecondition too if neither has the server's keys that the snapshot lists
// in keys.made: bring them, or remove that list, and the server makes new ones.
//
// With `accept_older`, **erasure goes before restore**, before the gallery can be queried:
// everybody who has a receipt, or was due one, is removed again; pending templates are dropped; and
// the generation is a new one. Receipts that were due to people who are not in the copy are issued.
// If the replaced store is so damaged that some receipts cannot be read: kFailedPrecondition,
// unless receipts are given or `without_receipts`. Processes that have the old store open continue
// to read it until they open it again, and cannot change it.
//
// A database is restored from its own backups, without HEFT. If it is older than the remembered
// generation, its galleries can neither sign replies nor be changed until this function is called
// with `accept_older` and an empty `snapshot`. The call then repeats the erasures in the database,
// with the receipts that the server has kept in its folder; if it has none, with `receipts` or
// `without_receipts`.
HEFT_EXPORT absl::StatusOr<RestoreResult> Restore(const std::string& snapshot,
                                                  const std::string& folder,
                                                  const RestoreOptions& options = {},
                                                  const Monitor& monitor = {});

// ExportGallery: copies one gallery into the store of a new folder, which any HEFT of this version
// reads, without the server's files. ImportGallery: imports an exported gallery, or a gallery
// of another store, as `gallery`. Both copy all or nothing. kAlreadyExists; kFailedPrecondition for
// a gallery that is older than its remembered generation.
HEFT_EXPORT absl::StatusOr<CopiedGallery> ExportGallery(const std::string& gallery,
                                                        const std::string& out,
                                                        const Monitor& monitor = {});
HEFT_EXPORT absl::StatusOr<CopiedGallery> ImportGallery(const std::string& from,
                                                        const std::string& gallery,
                                                        const Monitor& monitor = {});

// PendingUpTo: pending templates of a gallery, in requests of bounded size. Link heft::server.

struct PendingLimit {
  uint64_t templates = 256;
  uint64_t bytes = uint64_t{64} << 20;
};
// PendingUpTo: as Server::Pending, for the first enrolments within the limit; at least one, however
// large. Those with a name that another pending enrolment has come last. After Server::Activate of
// the answer, call it again for the next ones.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> PendingUpTo(const Server& server,
                                                             const Gallery& gallery,
                                                             const PendingLimit& limit = {});

// Removal: erases people from a gallery, and renews and compacts blocks together with the key
// owner, which sees only pads (docs/gallery.md, "Removal"). Link heft::server.
//
//   auto removed = heft::Remove(*server, "gallery", {"ann"});
//   if (removed->leaving > 0) {  // her templates are in no journal any more
//     auto request = heft::AskRenewal(*server, "gallery");           // -> KeyOwner::Renew
//     auto done = heft::Renew(*server, "gallery", answer, "answer", trust);
//   }

struct RemoveOptions {
  // If `trust` lists registrars, one of them must have allowed the removal (AuthorisedAct::kRemove)
  // of a single identity. Otherwise the server's operator decides.
  std::vector<uint8_t> authorisation;
  const Trust* trust = nullptr;
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

// ReadReceipt: the content of a signed receipt. OpenSigned checks its signature.
HEFT_EXPORT absl::StatusOr<ErasureReceipt> ReadReceipt(std::span<const uint8_t> receipt,
                                                       std::string_view what);

}  // namespace heft

#endif  // HEFT_GALLERY_ADMIN_H_
