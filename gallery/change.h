// SPDX-License-Identifier: Apache-2.0
// GalleryChange: one transaction on a gallery. Whoever holds one is the only one who writes to its
// store; what he does happens whole when Commit returns OK, or not at all.
//
// Pages that hold nothing any more of what was deleted: after Commit, EraseRemains.
#ifndef HEFT_GALLERY_CHANGE_H_
#define HEFT_GALLERY_CHANGE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gallery/gallery_impl.h"

namespace heft {

struct LegacyGallery;  // gallery/legacy_gallery.h

// kMostPending: entries of the journal that stand in no checkpoint after a change: whoever opens
// the gallery adds them up.
inline constexpr size_t kMostPending = 16;

// WriterWait: how long a writer waits for those before him (heft/gallery.h, SetWriterWait).
absl::Duration WriterWait();

// RecallRequest: what was answered to a change of this key, if it was asked before with the same
// `request`; kAlreadyExists if with another one.
absl::StatusOr<std::optional<std::vector<uint8_t>>> RecallRequest(const StoreReader& reader,
                                                                  uint32_t gallery,
                                                                  std::string_view key,
                                                                  const Digest& request,
                                                                  uint64_t now);

class GalleryChange {
 public:
  // Begin: waits for other writers. `of` says which gallery, whatever state it shows; one that is
  // not started is, with its id, if `start`. Who has no further use for the state moves it here: a
  // writer who erases waits for those who hold one. kUnavailable, kNotFound; kFailedPrecondition
  // where the gallery's binding is another, or it was set back, but for who mends that
  // (`set_back`).
  static absl::StatusOr<GalleryChange> Begin(Gallery::Impl of, bool start, bool set_back = false);
  GalleryChange(GalleryChange&&) noexcept;
  ~GalleryChange();

  // The state before the change.
  const Gallery::Impl& before() const { return before_; }
  // What it will be: to be changed.
  GalleryHead& head() { return head_; }
  const GalleryHead& head() const { return head_; }
  const std::vector<BlockInfo>& infos() const { return infos_; }
  StoreWriter& writer() { return *writer_; }
  const StoreWriter& writer() const { return *writer_; }
  const StoreLock& lock() const { return *lock_; }
  uint32_t number() const { return number_; }
  uint64_t now() const { return now_; }

  // As Gallery::Impl's, of the state with what has been changed.
  absl::StatusOr<NamedPlaces> Find(const std::string& identity) const;
  absl::StatusOr<std::optional<uint64_t>> FindSample(const SampleDigest& sample) const;
  // Place: to be read or changed; the block's digests follow at Commit. Valid until Commit.
  absl::StatusOr<Resident*> Place(uint64_t position);

  // AddSingles: each template at a free position, durable as an entry of the journal.
  absl::Status AddSingles(const Instance& instance, std::span<const Enrolment> templates);
  // FoldIfMany: where the journal has more than kMostPending entries that are in no checkpoint. To
  // be called once, after the last AddSingles: a fold costs as much for 64 entries as for one.
  absl::Status FoldIfMany(const Instance& instance, const ckks::EvaluationKeys& keys);
  // AddBatch: a batch in bulk, of[i] being sample i's; their `z` is not looked at. Its positions
  // are new ones, side by side. Those of samples that the batch leaves out are free afterwards.
  absl::Status AddBatch(const Rings& rings, std::span<const Enrolment> of, TemplateBatch batch,
                        const RingKeys& keys);
  // Fold: writes checkpoints with all entries of the journal, but those of damaged blocks, which
  // stay what they are: entries that are in no checkpoint.
  absl::Status Fold(const Instance& instance, const ckks::EvaluationKeys& keys);
  // Mend: makes damaged blocks again of which the journal has every template, the same to the bit;
  // how many. Looks at all blocks.
  absl::StatusOr<size_t> Mend(const Instance& instance, const ckks::EvaluationKeys& keys);
  // Blocks that this change has found damaged, and why. Nobody joins them.
  const std::map<size_t, std::string>& damaged() const { return damaged_; }

  // AddImported: all of a gallery of version 0.1, into one that was just started, in transactions
  // of some `step` bytes.
  absl::Status AddImported(const LegacyGallery& old, const Instance& instance, uint64_t step,
                           const std::function<bool(size_t, size_t)>& progress);
  // Of one that was just started. CommitStep: what there is of it so far, under a number that has
  // no name before Commit (gallery/unlisted.h). DropStarted: nothing of it.
  absl::Status CommitStep();
  absl::Status DropStarted();

  // Vacate: nobody stands at a position any more, and nothing is left of who did but, where
  // `state` is kLeaving, his ciphertext.
  absl::Status Vacate(uint64_t position, PlaceState state);

  // ReadCheckpoint, WriteCheckpoint: of a block; all zeros where there is none.
  absl::StatusOr<TiledCiphertexts> ReadCheckpoint(const Instance& instance, size_t block) const;
  absl::Status WriteCheckpoint(size_t block, const TiledCiphertexts& data);
  // ReadOrRemake: as ReadCheckpoint; a damaged one is made again from the journal, if that has all
  // of it. kDataLoss where it has not: the block is one of `damaged`.
  absl::StatusOr<TiledCiphertexts> ReadOrRemake(const Instance& instance, size_t block,
                                                const ckks::EvaluationKeys& keys);

  // For gallery/removal.cc. AddNumbered: the entries of these numbers, all of one block, by one
  // call, but for empty ones; or what that call added is `taken` away. EmptyEntry: keeps its
  // number. DropEntry does not.
  absl::Status AddNumbered(const Instance& instance, std::span<const uint64_t> entries,
                           const ckks::EvaluationKeys& keys, TiledCiphertexts* data,
                           bool taken = false) const;
  absl::Status EmptyEntry(uint64_t number);
  absl::Status DropEntry(uint64_t number);
  absl::StatusOr<size_t> CountEntries(std::span<const uint64_t> entries) const;
  // EndExchanges: those over this block are not waited for any more. AddExchange: nothing joins its
  // blocks until it is over.
  absl::Status EndExchanges(size_t block);
  absl::Status AddExchange(ByteSpan id, const ExchangeRecord& exchange);
  // Rechain: after somebody has left whose entry was in no checkpoint.
  absl::Status Rechain(size_t block);
  // RecountClean: after somebody has left; a block that nobody stands in is as new again.
  absl::Status RecountClean(size_t block);
  // ClearBlock: nobody stands in it any more; where they stood, names and samples still say.
  absl::Status ClearBlock(size_t block);
  // Unname: the identity stands at `from` no more. Resettle: who stood elsewhere stands at `to`,
  // without an entry.
  absl::Status Unname(const std::string& identity, uint64_t from);
  absl::Status Resettle(uint64_t to, const Resident& resident, double clean);
  // RenewInPlace: `stay` templates of a block are encrypted anew where they stand, the others that
  // were leaving are gone; `clean`: what becomes of that of each. kDataLoss where others stand
  // there.
  absl::Status RenewInPlace(size_t block, size_t stay, const std::function<double(double)>& clean);
  // SetWear: of a block that was written anew; its free positions were clean at `clean`.
  absl::Status SetWear(size_t block, double wear, double clean);

  // Quarantine (gallery/quarantine.cc). Bytes are kept by their hash.
  absl::Status PutQuarantined(ByteSpan bytes, std::span<const Enrolment> templates);
  absl::Status DropQuarantined(const Digest& digest);

  // Remember: what was answered to a request of this idempotency key.
  absl::Status Remember(std::string_view key, const Digest& request, ByteSpan answer);

  // SetInfo: of a block, whose leaf follows at Commit.
  void SetInfo(size_t block, const BlockInfo& info) {
    infos_[block] = info;
    changed_.insert(block);
  }
  // Touch: what replies are made of changes: the generation is another.
  void Touch() { touched_ = true; }
  // Commit: durable when it returns OK. Another one may follow, under the same lock.
  absl::Status Commit();
  // DropOtherEpochs: what a move to another key that was ended has left (gallery/gallery_rekey.cc):
  // blocks under the key before, or under the one that it was to have. Commits.
  absl::Status DropOtherEpochs();
  // EraseRemains: after Commit: nothing that was deleted or replaced is left in the store's files.
  // Waits for those who still read it; `before` is the newest state then.
  absl::Status EraseRemains();

 private:
  GalleryChange(const Gallery::Impl& before) : before_(before) {}
  absl::Status Start(const Gallery::Impl& of);
  absl::Status LoadExchanges();
  // A position for one template more: one that was freed, or a new one.
  absl::StatusOr<uint64_t> TakePosition(const Instance& instance, const WearCosts& costs);
  absl::StatusOr<std::optional<uint64_t>> TakeFreed(const Instance& instance,
                                                    const WearCosts& costs);
  // Closes the last block, if it takes no template of this cost more.
  absl::Status CloseFull(const Instance& instance, const WearCosts& costs, double cost);
  absl::Status CloseBlock();
  void Extend(uint64_t places);
  absl::Status Settle(uint64_t position, const Enrolment& enrolment, const Digest& contribution);
  absl::Status Name(const std::string& identity, const std::function<void(NamedPlaces*)>& change);
  absl::Status FlushRuns();
  absl::Status RetireEntries();
  struct PendingOf;  // a block's entries that are in no checkpoint
  absl::StatusOr<std::map<size_t, PendingOf>> PendingByBlock() const;
  absl::Status FoldBlock(const Instance& instance, size_t block, const PendingOf& pending,
                         const ckks::EvaluationKeys& keys);
  // The entries of a block that cannot be folded get new numbers, behind those that were.
  absl::Status CarryEntries(size_t block, uint64_t folded);
  absl::StatusOr<bool> IsTooMany(const Instance& instance);
  // Whether templates may join a block: it is not damaged.
  absl::StatusOr<bool> IsSound(const Instance& instance, size_t block);
  void SetDamaged(size_t block, const std::string& why);
  absl::StatusOr<TiledCiphertexts> Remake(const Instance& instance, size_t block,
                                          const ckks::EvaluationKeys& keys) const;

  Gallery::Impl before_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<StoreLock> lock_;
  std::unique_ptr<StoreWriter> writer_;
  uint32_t number_ = 0;
  GalleryHead head_;
  std::vector<BlockInfo> infos_;
  std::map<uint64_t, Run> runs_;
  std::map<std::string, PersonId> persons_;  // of identities that this change has met
  std::set<size_t> changed_;                 // blocks
  std::set<size_t> exchanging_;              // blocks that nothing joins
  std::map<size_t, std::string> damaged_;    // the same
  std::set<size_t> sound_;                   // blocks that were looked at
  uint64_t now_ = 0;
  bool touched_ = false;
  bool unlisted_ = false;  // it was just started
};

}  // namespace heft

#endif  // HEFT_GALLERY_CHANGE_H_
