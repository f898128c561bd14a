// SPDX-License-Identifier: Apache-2.0
// Looking after galleries: what is in them, whether it is intact, copies of them, and their return
// from copies (docs/gallery.md, "Commands"). Link heft::server.
//
//   heft::CreateGallery(*server, "store:visitors");
//   auto info = heft::DescribeGallery("store:visitors");
//   auto checked = heft::VerifyGallery("store:visitors", &model);
//   heft::Snapshot("store", "backup/monday");                     // all galleries of the store
//   heft::Restore("backup/monday", "store", {.server = &*server}); // erasure goes before restore
//
// A gallery is named as in heft/gallery.h: FOLDER, or FOLDER:NAME. Names in `gallery` below are
// such.
#ifndef HEFT_GALLERY_ADMIN_H_
#define HEFT_GALLERY_ADMIN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/metadata.h"
#include "heft/model.h"
#include "heft/progress.h"
#include "heft/server.h"

namespace heft {

// DamagedBlocks: those that this object, or an earlier generation of it, has found damaged while it
// served: their places did not answer. Each with why, and what to do.
struct DamagedBlock {
  size_t block = 0;
  std::string why;
};
HEFT_EXPORT std::vector<DamagedBlock> DamagedBlocks(const Gallery& gallery);

// Retained: for how long, and how many bytes of, templates stay in the journal after they have
// joined their blocks: until then they can be taken back exactly, without the key owner.
struct Retained {
  uint64_t seconds = 3600;
  uint64_t bytes = uint64_t{1} << 30;
};

// CreateGallery: an empty gallery for templates under the server's model and keys. kAlreadyExists;
// errors of Server::Enrol.
HEFT_EXPORT absl::StatusOr<GalleryId> CreateGallery(const Server& server,
                                                    const std::string& gallery,
                                                    const Retained& retained = {});

// GalleryInfo: what a gallery and its store say of themselves.
struct GalleryInfo {
  std::string name;
  GalleryId id{};
  ModelId model{};
  KeyId key{};
  uint32_t gamma = 0;
  uint64_t generation = 0;
  Digest root{};         // of all that replies of this generation are made of
  uint64_t places = 0;   // positions that are or were filled
  uint64_t live = 0;     // templates that answer, or have expired
  uint64_t leaving = 0;  // that answer no more, until their blocks are renewed
  uint64_t freed = 0;    // places to be filled again
  uint64_t waiting = 0;  // templates that nobody has admitted
  uint64_t blocks = 0;
  uint64_t journal_entries = 0;  // templates that can be taken back exactly
  uint64_t journal_bytes = 0;
  uint64_t unfolded = 0;  // of them, that stand in no block's checkpoint yet
  uint64_t started = 0;   // Unix seconds, as those below
  uint64_t key_since = 0;
  uint64_t verified = 0;  // when VerifyGallery last looked at everything; 0: never
  bool intact = false;    // what it found
  Retained retained;
  std::vector<KeyId> revoked;  // oldest first
  // With a model: of the noise that a template's block may collect, what is left to the one that is
  // worst off: 1 in a new gallery, 0 where it should be enrolled anew.
  std::optional<double> noise_margin;
  // Of the whole store:
  std::vector<std::string> galleries;  // their names
  uint64_t store_bytes = 0;            // on disk
  uint64_t store_live_bytes = 0;       // of them, that hold something
  uint64_t readers = 0;                // states that are held, in all processes
};
// DescribeGallery: reads what is small: nothing of templates. Errors of Gallery::Open, and
// kFailedPrecondition for another model.
HEFT_EXPORT absl::StatusOr<GalleryInfo> DescribeGallery(const std::string& gallery,
                                                        const Model* model = nullptr);
// GalleryNames: of a store's folder, in the order of the alphabet.
HEFT_EXPORT absl::StatusOr<std::vector<std::string>> GalleryNames(const std::string& folder);
// StateFile: where Server::Admit keeps what the key owner signed of a gallery last.
HEFT_EXPORT std::string StateFile(const std::string& gallery);

// ListedTemplate: who stands at a position.
struct ListedTemplate {
  uint64_t position = 0;
  std::string identity;
  std::string person;  // 32 hexadecimal digits: by these, receipts name them
  uint64_t generation = 0;
  uint64_t enrolled = 0, expires = 0;  // Unix seconds; 0: unknown, never
  Metadata metadata;
};
struct ListOptions {
  uint64_t from = 0;   // position
  uint64_t count = 0;  // templates; 0: all
  std::vector<Condition> where = {};
};
// ListTemplates: in the order of positions, those that are leaving left out. The position to go on
// from, if there are more. One run of the roster in memory at a time. Errors of `use` end it.
HEFT_EXPORT absl::StatusOr<std::optional<uint64_t>> ListTemplates(
    const std::string& gallery, const ListOptions& options,
    const std::function<absl::Status(const ListedTemplate&)>& use);

// DescribePerson: an identity's templates that answer or have expired, and how many wait. All empty
// for nobody. Reads what is about them alone.
struct PersonInfo {
  std::vector<ListedTemplate> templates;  // in the order of positions
  uint64_t waiting = 0;
};
HEFT_EXPORT absl::StatusOr<PersonInfo> DescribePerson(const std::string& gallery,
                                                      const std::string& identity);
// WaitingEnrolments: those that nobody has admitted, each with the identities of its templates.
HEFT_EXPORT absl::StatusOr<std::vector<std::vector<std::string>>> WaitingEnrolments(
    const std::string& gallery);

// VerifyGallery: everything against everything: each block against its checksum and hash, its
// residues against their primes where `model` says which, the roster, names and samples against
// each other, the root, and the pages of the store. What is damaged is in the result; when it was,
// and whether all was intact, goes into the gallery (`recorded` says why it could not). kCancelled.
struct VerifyResult {
  std::vector<uint64_t> damaged;        // blocks: what they hold cannot be matched, the rest can
  std::vector<std::string> complaints;  // each a sentence; at most 100
  uint64_t generation = 0;
  uint64_t blocks = 0;
  absl::Status recorded;
  bool intact() const { return complaints.empty(); }
};
HEFT_EXPORT absl::StatusOr<VerifyResult> VerifyGallery(const std::string& gallery,
                                                       const Model* model = nullptr,
                                                       const Monitor& monitor = {});

// CompactGallery: what the server can do by itself: damaged blocks of which the journal has every
// template are made again, the journal joins the blocks, and what was deleted is overwritten. Where
// sparse blocks are left, AskRenewal with `compact` is for them.
struct CompactResult {
  uint64_t mended = 0;                         // blocks that were damaged
  std::vector<DamagedBlock> damaged;           // that still are
  std::vector<std::vector<uint8_t>> receipts;  // that were due
  absl::Status overwritten;                    // as RemoveResult's
  uint64_t blocks = 0;
  uint64_t sparse = 0;   // blocks that a renewal would make fewer, or free of who leaves
  uint64_t leaving = 0;  // templates that wait for one
};
HEFT_EXPORT absl::StatusOr<CompactResult> CompactGallery(const Server& server,
                                                         const std::string& gallery);

// Snapshot: a copy of the store, all of its galleries in one state, into the new folder `out`; who
// reads and writes goes on. `folder`: of the store, or a gallery in it. With the server's public
// key and the states that the key owner signed; `with_keys`: and its secret keys and log of
// requests (mode 0600), which make the copy a server. kAlreadyExists; kCancelled: nothing is left.
struct CopiedGallery {
  std::string name;
  GalleryId id{};
  uint64_t generation = 0;
};
HEFT_EXPORT absl::StatusOr<std::vector<CopiedGallery>> Snapshot(const std::string& folder,
                                                                const std::string& out,
                                                                bool with_keys = false,
                                                                const Monitor& monitor = {});

// RememberGeneration: at once, what whoever changes a gallery does now and then, and with every
// erasure (gallery/remembered.h): that this gallery has come so far, in this user's state folder
// ($HEFT_STATE_DIR, else $XDG_STATE_HOME/heft, else ~/.local/state/heft): an older copy is then
// known for one, also where nothing else is left.
HEFT_EXPORT absl::Status RememberGeneration(const std::string& gallery);

struct RestoreOptions {
  // Takes a copy that is older than what it replaces, or than what is remembered.
  bool accept_older = false;
  // Who removes again those who were erased since the copy was made; needed where there are any.
  const Server* server = nullptr;
  // Receipts of erasure that the replaced store does not have, signed by its server, by the
  // snapshot's, or by one that `trust` lists; others are refused.
  std::vector<std::vector<uint8_t>> receipts = {};
  const Trust* trust = nullptr;
  // Takes an older copy also where the receipts of a damaged store cannot be read, and none are
  // given: who was erased may be there again.
  bool without_receipts = false;
};
struct RestoreResult {
  std::vector<CopiedGallery> galleries;
  bool older = false;
  uint64_t erased = 0;    // templates that were removed again, and of which nothing is left
  uint64_t leaving = 0;   // that were removed again, until AskRenewal and Renew
  uint64_t rejected = 0;  // that waited in an older copy: they are to be brought again
};
// Restore: the store of a snapshot takes the place of the one in `folder`, if there is one, all at
// once; the server's own files stay, and those that it lacks come with the snapshot.
// kFailedPrecondition where the snapshot is older, lacks a gallery that is there, or nothing tells
// how old it is, unless `accept_older`; then, before anybody can ask the gallery: **erasure goes
// before restore**: whoever has a receipt, or was about to have one, is removed again, what waits
// is dropped, and the generation is one that there never was. Receipts that were due to those who
// are not in the copy are given. Where the replaced store is so damaged that not all receipts can
// be read, kFailedPrecondition, unless some are given or `without_receipts`. Processes that have
// the old store open read it until they open it anew, and cannot change it.
//
// A database comes back from its own backups, without us; where it is older than what is remembered
// of it here, nothing is signed of its galleries, nor are they changed, until this has been called
// for it without a snapshot ("") and with `accept_older`: then the same is done, where it is, with
// the receipts that the server has kept in its folder; where it has none, `receipts` or
// `without_receipts`.
HEFT_EXPORT absl::StatusOr<RestoreResult> Restore(const std::string& snapshot,
                                                  const std::string& folder,
                                                  const RestoreOptions& options = {},
                                                  const Monitor& monitor = {});

// ExportGallery: one gallery, alone, into the store of a new folder, which any HEFT of this version
// reads; none of the server's files. ImportGallery: one that was exported, or any other gallery of
// a store, or, with its `model`, a folder of version 0.1, as `gallery`. All or nothing.
// kAlreadyExists; kFailedPrecondition for one that is older than what is remembered of it.
HEFT_EXPORT absl::StatusOr<CopiedGallery> ExportGallery(const std::string& gallery,
                                                        const std::string& out,
                                                        const Monitor& monitor = {});
HEFT_EXPORT absl::StatusOr<CopiedGallery> ImportGallery(const std::string& from,
                                                        const std::string& gallery,
                                                        const Model* model = nullptr,
                                                        const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_GALLERY_ADMIN_H_
