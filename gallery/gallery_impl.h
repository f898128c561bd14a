// SPDX-License-Identifier: Apache-2.0
// Gallery::Impl: one state of a gallery in a store (store/store.h). It never changes while it is
// read. A change is a GalleryChange (gallery/change.h); Newest returns the result.
#ifndef HEFT_GALLERY_GALLERY_IMPL_H_
#define HEFT_GALLERY_GALLERY_IMPL_H_

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/bulk.h"
#include "fusion/matching.h"
#include "fusion/plan.h"
#include "fusion/rekey.h"
#include "gallery/checked_store.h"
#include "gallery/gallery_cache.h"
#include "gallery/records.h"
#include "gallery/restriction.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "store/store.h"

namespace heft {

// BindingOf: the binding of templates that `model` fuses under a key. `instance` is that of the
// matching ring.
GalleryBinding BindingOf(const Instance& instance, const Model& model, const KeyId& key_id);

// A fused template with the identity that it is enrolled for.
struct Enrolment {
  std::string identity;
  ckks::Ciphertext z;  // TemplateLimbs limbs
  SampleDigest sample{};
  std::vector<SampleDigest> parts{};  // of a mean: each of its samples
  uint64_t expires = kNoTime;
  Metadata metadata{};
};

// LostEntry: an entry of the journal that is in no checkpoint, and is damaged or missing.
struct LostEntry {
  uint64_t number = 0;
  uint64_t position = 0;
  std::string identity;
  Digest contribution{};
};

// PinnedBlock: a block's residues. Valid while both this and the Impl that returned it live.
struct PinnedBlock {
  BlockView view;
  std::shared_ptr<const TiledCiphertexts> sum;  // where `view` is not in the store's map
  std::vector<uint64_t> lost = {};              // positions whose templates are not in it
};

// Address: a gallery's folder and its name in the folder's store; or a store outside folders
// (store/scheme.h) and the server's folder for it.
struct Address {
  std::string folder;
  std::string name;
  std::string store = {};  // empty: the folder's
  const std::string& at() const { return store.empty() ? folder : store; }
};
// kDefaultName: the gallery of an address without a name.
inline constexpr std::string_view kDefaultName = "main";
// ParseAddress: "FOLDER", which means the gallery "main", or "FOLDER:NAME". If the whole text is an
// existing folder, it is a FOLDER. "postgres:SERVICE" may replace FOLDER. kInvalidArgument for a
// name that is not 1 to 64 of [a-z0-9._-].
absl::StatusOr<Address> ParseAddress(const std::string& text);
// FolderOf: the folder of an address, with the server's keys and its log of requests.
std::string FolderOf(const std::string& address);
// StoreOf: the argument for OpenStore.
std::string StoreOf(const std::string& address);

class Gallery::Impl {
 public:
  // An empty gallery in memory, with an id of its own. The first change stores it.
  static Impl New(const std::string& address, const GalleryBinding& binding);
  // Open: the newest state. kNotFound if there is none, kDataLoss if it is damaged.
  static absl::StatusOr<Impl> Open(const std::string& address);
  // From a store that is open.
  static absl::StatusOr<Impl> Open(std::shared_ptr<Store> store, const Address& address);
  // Newest: as Open, but keeps the results of checks of unchanged blocks.
  absl::StatusOr<Impl> Newest() const;
  // Unread: the same without a hold on its state. Use it for Newest and for fields of the head.
  Impl Unread() const;
  static bool Exists(const std::string& address);
  // CheckNotSetBack: kFailedPrecondition for a state of a database that is older than the
  // remembered one (gallery/remembered.h). It came from a backup, or the database lost acknowledged
  // changes. No such state is signed or changed until Restore.
  const absl::Status& CheckNotSetBack() const { return set_back_; }
  // Whether a gallery may be started there. kInvalidArgument for a file, kDataLoss if only
  // parts of a gallery exist.
  static absl::Status CheckVacant(const std::string& address);

  // The folder of the server's own files: its keys and its log of requests.
  const std::string& directory() const { return address_.folder; }
  const Address& address() const { return address_; }
  const GalleryHead& head() const { return head_; }
  const GalleryBinding& binding() const { return head_.binding; }
  size_t size() const { return head_.live; }      // templates that are matched
  size_t places() const { return head_.places; }  // positions that are or were filled
  size_t blocks() const { return infos_.size(); }
  const std::vector<BlockInfo>& infos() const { return infos_; }
  uint64_t generation() const { return head_.generation; }
  const GalleryId& id() const { return head_.id; }
  // The signed root of this generation (gallery/merkle.h).
  const Digest& root() const { return head_.root; }
  // Earlier keys of the templates, oldest first. They are no longer accepted.
  const std::vector<KeyId>& revoked_keys() const { return head_.revoked; }

  // Identity of each template, by position (block * 2 slots + lane * slots + slot). Empty for a
  // free position. The first call reads the whole roster.
  absl::StatusOr<std::shared_ptr<const Roster>> ReadRoster() const;
  std::vector<std::string> identities() const;
  // Restricted: the places whose templates can be identified at `time` (Unix seconds): they exist,
  // have not expired and fit `where`. Nothing if that holds for all places.
  absl::StatusOr<std::optional<Restriction>> Restricted(uint64_t time,
                                                        std::span<const Condition> where) const;
  // Intact: as Restricted, without the places of damaged blocks, which Damaged lists. The other
  // blocks still serve. kDataLoss if no block is left.
  absl::StatusOr<std::optional<Restriction>> Intact(const Instance& instance,
                                                    const ckks::EvaluationKeys& keys, uint64_t time,
                                                    std::span<const Condition> where) const;
  // Damaged, DamagedRecords: what this process has found damaged and is damaged still, looked at
  // again in this state: blocks, with the reason, and other records (Describe).
  std::map<size_t, std::string> Damaged() const;
  std::vector<Damage> DamagedRecords() const;
  // The positions of an identity, ascending.
  absl::StatusOr<NamedPlaces> Find(const std::string& identity) const;
  absl::StatusOr<Resident> At(uint64_t position) const;
  // The position of the samples with this digest, or kPendingPlace. Nothing if they are new.
  absl::StatusOr<std::optional<uint64_t>> FindSample(const SampleDigest& sample) const;

  // kFailedPrecondition unless `binding` is this gallery's; the message says what differs.
  absl::Status CheckBinding(const GalleryBinding& binding) const;
  // CheckBinding, and kDataLoss unless the number of blocks fits the positions.
  absl::Status CheckFits(const Instance& instance, const GalleryBinding& binding) const;

  // One block. It is checked once, until it changes: checksum, form, residues below their primes.
  // Entries of the journal that are in no checkpoint are added with `keys`; damaged ones are left
  // out, and their positions are `lost`.
  absl::StatusOr<PinnedBlock> Block(const Instance& instance, size_t block,
                                    const ckks::EvaluationKeys& keys) const;
  // As Block, as a copy, for a block without such entries.
  absl::StatusOr<TiledCiphertexts> ReadBlock(const Instance& instance, size_t block) const;
  // Entries that are in no checkpoint yet.
  size_t pending() const { return pending_.size(); }

  // Verify: checks each block against checksum, hash and primes; roster, names and samples against
  // each other; and the root. `progress` as in RekeyGallery. It returns an error only if the system
  // fails; damage is reported in the finding.
  struct Finding {
    std::vector<size_t> damaged;          // blocks
    std::vector<std::string> complaints;  // each a sentence
    bool intact() const { return complaints.empty(); }
  };
  // Residues are compared with their primes only if `instance` is given.
  absl::StatusOr<Finding> Verify(const Instance* instance = nullptr,
                                 const std::function<bool(size_t, size_t)>& progress = {}) const;
  // kDataLoss with the first complaint, unless Verify finds none.
  absl::Status CheckIntact(const Instance* instance = nullptr) const;

  // Pending enrolments (gallery/pending.cc): the small records, and the bytes of one entry.
  struct PendingEntry {
    Digest digest{};
    PendingRecord record;
  };
  absl::StatusOr<std::vector<PendingEntry>> PendingEnrolments() const;
  // kDataLoss, naming the entry, if it is damaged or missing.
  absl::StatusOr<ByteSpan> PendingFile(const Digest& digest) const;

  const std::shared_ptr<Store>& store() const { return store_; }
  const StoreReader& reader() const { return *reader_; }
  uint32_t number() const { return number_; }

 private:
  friend class GalleryChange;
  Impl() = default;
  absl::Status Load();
  absl::Status LoadState();
  absl::Status LoadPending();
  absl::StatusOr<std::shared_ptr<const BlockNames>> ReadNames(size_t block) const;
  absl::Status CheckBlockCount(uint32_t block_places) const;
  absl::Status VerifyPending(Finding* finding) const;
  absl::Status VerifyRecords(Finding* finding) const;
  absl::StatusOr<BlockView> Checkpoint(const Instance& instance, size_t block) const;
  // IntactEntries: those entries of a block that are in no checkpoint and that its roster has. The
  // others are `lost`, by their numbers.
  absl::StatusOr<std::vector<const JournalEntry*>> IntactEntries(
      size_t block, std::vector<LostEntry>* lost) const;
  std::string What() const;
  // known_damage.cc. NoteDamaged: remembers a damaged block for Damaged. IsCheckpointDamaged: by
  // its checksum. IsStillLost: of a record that is no longer damaged in itself; `lost`: the numbers
  // of lost entries of the journal.
  void NoteDamaged(size_t block, std::string why) const;
  bool IsCheckpointDamaged(size_t block) const;
  bool IsStillLost(const Damage& damage, std::span<const uint64_t> lost) const;

  Address address_;
  uint32_t number_ = 0;
  std::shared_ptr<Store> store_;  // none: not started
  std::shared_ptr<const CheckedReader> reader_;
  GalleryHead head_;
  absl::Status set_back_;
  std::vector<BlockInfo> infos_;
  struct Pending {
    uint64_t number = 0;
    JournalEntry entry;  // into the reader's memory
  };
  std::vector<Pending> pending_;
  std::shared_ptr<GalleryCache> cache_;
};

// RekeyGallery: moves all templates to another key, without decrypting them: all or none. `gallery`
// shows the result. The old key is revoked: nothing under it is accepted again, the gallery never
// returns to it, and ciphertexts under it are overwritten. kFailedPrecondition for a key that does
// not start from this gallery's or leads to a revoked one, and while enrolments wait. kCancelled if
// `progress`, called with (blocks done, all), returns false. kUnavailable, with `gallery` under the
// new key, if it was moved but a reader still holds data under the old key.
absl::Status RekeyGallery(Gallery::Impl* gallery, const Instance& instance, const RekeyingKey& key,
                          const std::function<bool(size_t, size_t)>& progress = {});

// FusedOf: the ciphertext of an entry.
absl::StatusOr<ckks::Ciphertext> FusedOf(const Instance& instance, const JournalEntry& entry);

// AddEntries: adds entries of one block in their order, as one fold does: up to kTemplatesACall of
// them with one rounding. With `taken`, takes them away.
absl::Status AddEntries(const Instance& instance, uint32_t block_places,
                        std::span<const JournalEntry* const> entries,
                        const ckks::EvaluationKeys& keys, TiledCiphertexts* block,
                        bool taken = false);

// CheckResidueRange: kDataLoss unless each residue of a block is below its prime.
absl::Status CheckResidueRange(const ckks::Context& context, BlockView data, std::string_view what);

// IsEntryOf: whether an entry is the one that the roster has for a position.
bool IsEntryOf(const Resident& resident, uint64_t position, const JournalEntry& entry);

// ReadRun: a run of the roster. All places are free if there is none.
absl::StatusOr<Run> ReadRun(const StoreReader& reader, uint32_t gallery, uint64_t run);
// ReadRunDigests: of the runs of a block, one after another; zeros where there is no run. If their
// record is lost, they are computed from the runs.
absl::StatusOr<std::vector<uint8_t>> ReadRunDigests(const StoreReader& reader, uint32_t gallery,
                                                    size_t block, const GalleryHead& head);

}  // namespace heft

#endif  // HEFT_GALLERY_GALLERY_IMPL_H_
