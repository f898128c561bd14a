// SPDX-License-Identifier: Apache-2.0
// GalleryChange: one transaction on a gallery. Only its holder can write to the gallery's store.
// All changes take effect when Commit returns OK, or none.
//
// After Commit, EraseRemains erases deleted data from the store's files.
#ifndef HEFT_GALLERY_CHANGE_H_
#define HEFT_GALLERY_CHANGE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gallery/gallery_impl.h"

namespace heft {

// kMaxPending: the most journal entries that a change leaves in no checkpoint. Each opening of the
// gallery adds these up.
inline constexpr size_t kMaxPending = 16;

// WriterWait: how long a writer waits for earlier writers (heft/gallery.h, SetWriterWait).
absl::Duration WriterWait();

// RecallRequest: the stored answer to a change with idempotency key `key`, if it had the same
// `request`. kAlreadyExists if `request` differs.
absl::StatusOr<std::optional<std::vector<uint8_t>>> RecallRequest(const StoreReader& reader,
                                                                  uint32_t gallery,
                                                                  std::string_view key,
                                                                  const Digest& request,
                                                                  uint64_t now);

class GalleryChange {
 public:
  // Begin: waits for other writers. `of` names the gallery; it may be an old state of it. With
  // `start`, a gallery that is not started is started with the id of `of`. A caller that no longer
  // needs its state moves it here, because an erasing writer waits for all holders of a state.
  // kUnavailable, kNotFound; kFailedPrecondition if the gallery's binding differs, or if the
  // gallery was set back and `set_back` (a repair) is false.
  static absl::StatusOr<GalleryChange> Begin(Gallery::Impl of, bool start, bool set_back = false);
  GalleryChange(GalleryChange&&) noexcept;
  ~GalleryChange();

  // The state before the change.
  const Gallery::Impl& before() const { return before_; }
  // The state after the change, which the caller edits.
  GalleryHead& head() { return head_; }
  const GalleryHead& head() const { return head_; }
  const std::vector<BlockInfo>& infos() const { return infos_; }
  CheckedWriter& writer() { return *writer_; }
  const CheckedWriter& writer() const { return *writer_; }
  const StoreLock& lock() const { return *lock_; }
  uint32_t number() const { return number_; }
  uint64_t now() const { return now_; }

  // As in Gallery::Impl, for the state with the changes so far.
  absl::StatusOr<NamedPlaces> Find(const std::string& identity) const;
  absl::StatusOr<std::optional<uint64_t>> FindSample(const SampleDigest& sample) const;
  // Place: a position's record, to read or change. Commit updates the block's digests. Valid until
  // Commit.
  absl::StatusOr<Resident*> Place(uint64_t position);
  // PeekRun: a run of the roster, to read. The change does not keep it.
  absl::StatusOr<Run> PeekRun(uint64_t number) const;
  // RunsOf: the numbers of all runs that may have templates with these marks, ascending; AllRuns:
  // of all. Neither the index of names nor the rows of templates are relied on alone: each
  // template is in its run by one of its marks, also if a part of its row is damaged.
  absl::StatusOr<std::vector<uint64_t>> RunsOf(const TemplateMarks& marks);
  std::vector<uint64_t> AllRuns() const;

  // AddSingles: adds each template at a free position, as a durable entry of the journal.
  absl::Status AddSingles(const Instance& instance, std::span<const Enrolment> templates);
  // FoldIfMany: folds if the journal has more than kMaxPending entries that are in no checkpoint.
  // Call it once, after the last AddSingles: a fold costs as much for 64 entries as for one.
  absl::Status FoldIfMany(const Instance& instance, const ckks::EvaluationKeys& keys);
  // AddBatch: adds a batch in bulk. of[i] describes sample i; its `z` is not read. The batch gets
  // new, consecutive positions. Positions of samples that the batch leaves out are free afterwards.
  absl::Status AddBatch(const Rings& rings, std::span<const Enrolment> of, TemplateBatch batch,
                        const RingKeys& keys);
  // Fold: writes checkpoints with all entries of the journal, except those of damaged blocks. These
  // remain entries that are in no checkpoint.
  absl::Status Fold(const Instance& instance, const ckks::EvaluationKeys& keys);
  // Mend: rebuilds, bit for bit, each damaged block whose templates are all in the journal. Returns
  // their number. Reads all blocks.
  absl::StatusOr<size_t> Mend(const Instance& instance, const ckks::EvaluationKeys& keys);
  // MendRecords: writes damaged records again from their copies or the roster, or drops those that
  // nothing needs (gallery/checked_store.h), and adds what the indices lack. Returns the number of
  // damaged ones. Reads all records.
  absl::StatusOr<size_t> MendRecords();
  // CheckRoster: kDataLoss, naming the runs, if templates of blocks are missing in the roster.
  absl::Status CheckRoster() const;
  // Blocks that this change has found damaged, and why. No template joins them.
  const std::map<size_t, std::string>& damaged() const { return damaged_; }

  // Vacate: empties a position and deletes everything about its template. If `state` is kLeaving,
  // the template's ciphertext stays.
  absl::Status Vacate(uint64_t position, PlaceState state);

  // ReadCheckpoint, WriteCheckpoint: the checkpoint of a block; all zeros if it has none.
  absl::StatusOr<TiledCiphertexts> ReadCheckpoint(const Instance& instance, size_t block) const;
  absl::Status WriteCheckpoint(size_t block, const TiledCiphertexts& data);
  // ReadOrRemake: as ReadCheckpoint, but rebuilds a damaged checkpoint from the journal. kDataLoss
  // if the journal lacks some of its templates: then the block is in `damaged`.
  absl::StatusOr<TiledCiphertexts> ReadOrRemake(const Instance& instance, size_t block,
                                                const ckks::EvaluationKeys& keys);

  // For gallery/removal.cc. AddNumbered: adds these entries of one block, without empty ones, in
  // one call. With `taken`, takes away what that call added. EmptyEntry keeps the entry's number;
  // DropEntry does not.
  absl::Status AddNumbered(const Instance& instance, std::span<const uint64_t> entries,
                           const ckks::EvaluationKeys& keys, TiledCiphertexts* data,
                           bool taken = false) const;
  absl::Status EmptyEntry(uint64_t number, uint64_t position);
  absl::Status DropEntry(uint64_t number);
  // LeaveEntry: as EmptyEntry, for a template whose ciphertext stays in its block: its call cannot
  // be taken back any more.
  absl::Status LeaveEntry(uint64_t number, uint64_t position);
  // VoidEntry: leaves an empty entry of no block, so that the number is not taken for a lost entry.
  absl::Status VoidEntry(uint64_t number);
  absl::StatusOr<size_t> CountEntries(std::span<const uint64_t> entries) const;
  // EndExchanges: ends the open exchanges over this block. AddExchange: opens one; nothing joins
  // its blocks until it ends.
  absl::Status EndExchanges(size_t block);
  absl::Status AddExchange(ByteSpan id, const ExchangeRecord& exchange);
  // Rechain: call it after a template has left whose entry was in no checkpoint.
  absl::Status Rechain(size_t block);
  // RecountClean: call it after a template has left. A block without templates counts as new again.
  absl::Status RecountClean(size_t block);
  // ClearBlock: empties the block. Names and samples still refer to its positions.
  absl::Status ClearBlock(size_t block);
  // RemovePosition: removes position `from` from the identity's record. Resettle: puts a template
  // from another position at `to`, without an entry.
  absl::Status RemovePosition(const std::string& identity, uint64_t from);
  absl::Status Resettle(uint64_t to, const Resident& resident, double clean);
  // RenewInPlace: `stay` templates of a block are encrypted anew at their positions; its leaving
  // templates are gone. `clean` maps the clean value of each position to the new one. kDataLoss if
  // other templates are there.
  absl::Status RenewInPlace(size_t block, size_t stay, const std::function<double(double)>& clean);
  // SetAddedError: for a block that was written anew; its free positions were clean at `clean`.
  absl::Status SetAddedError(size_t block, double added, double clean);

  // Pending enrolments (gallery/pending.cc). Bytes are stored under their hash; `client` sent them.
  absl::Status PutPending(ByteSpan bytes, std::span<const Enrolment> templates,
                          const SignerKey& client);
  // DropPending: deletes a pending enrolment, damaged or not. Returns the number of its
  // templates, those that can be read; nothing if it does not exist.
  absl::StatusOr<std::optional<size_t>> DropPending(const Digest& digest);

  // Remember: stores the answer to a request with this idempotency key.
  absl::Status Remember(std::string_view key, const Digest& request, ByteSpan answer);

  // SetInfo: of a block. Commit updates its leaf.
  void SetInfo(size_t block, const BlockInfo& info) {
    infos_[block] = info;
    changed_.insert(block);
  }
  // Touch: increases the generation, for a change that affects replies.
  void Touch() { touched_ = true; }
  // Commit: the change is durable when it returns OK, and not made otherwise. Another transaction
  // may follow under the same lock, if Writing is OK.
  absl::Status Commit();
  absl::Status Writing() const { return writing_; }
  absl::Status CommitAndGoOn();
  // DropOtherEpochs: deletes blocks under other keys that an interrupted rekeying has left
  // (gallery/gallery_rekey.cc). Commits.
  absl::Status DropOtherEpochs();
  // EraseRemains: call it after Commit. Nothing that was deleted or replaced is left in the store's
  // files. Waits for readers of older states; `before` is the newest state afterwards.
  absl::Status EraseRemains(absl::Duration wait = WriterWait());

 private:
  GalleryChange(const Gallery::Impl& before) : before_(before) {}
  // BeginWriting: the next transaction, under the same lock.
  absl::Status BeginWriting();
  absl::Status Start(const Gallery::Impl& of);
  absl::Status LoadExchanges();
  // A position for one more template: a freed or a new one.
  absl::StatusOr<uint64_t> TakePosition(const Instance& instance, const ErrorCosts& costs);
  absl::StatusOr<std::optional<uint64_t>> TakeFreed(const Instance& instance,
                                                    const ErrorCosts& costs);
  // Closes the last block if it cannot take another template of this cost.
  absl::Status CloseFull(const Instance& instance, const ErrorCosts& costs, double cost);
  absl::Status CloseBlock();
  void Extend(uint64_t places);
  absl::Status Settle(uint64_t position, const Enrolment& enrolment, const Digest& contribution);
  absl::StatusOr<NamedPlaces> FindInRoster(const std::string& identity) const;
  absl::StatusOr<bool> MendRecord(const Damage& damage);
  absl::Status MendIndices();
  absl::Status Name(const std::string& identity, const std::function<void(NamedPlaces*)>& change);
  absl::Status FlushRuns();
  absl::Status RetireEntries();
  struct PendingOf;  // a block's entries that are in no checkpoint
  absl::StatusOr<std::map<size_t, PendingOf>> PendingByBlock() const;
  absl::StatusOr<PendingOf> SplitLost(size_t block, PendingOf* pending);
  // Folds the entries of a block, but not damaged ones, which are `lost`.
  absl::StatusOr<bool> FoldBlock(const Instance& instance, size_t block, PendingOf pending,
                                 const ckks::EvaluationKeys& keys, PendingOf* lost);
  // Gives entries of a block that cannot be folded new numbers, behind the others: `which` of them,
  // or all.
  absl::Status CarryEntries(size_t block, uint64_t folded,
                            const std::optional<std::set<uint64_t>>& which);
  absl::StatusOr<bool> IsTooMany(const Instance& instance);
  // Whether templates may join a block: it is not damaged.
  absl::StatusOr<bool> IsSound(const Instance& instance, size_t block);
  void SetDamaged(size_t block, const std::string& why);
  absl::StatusOr<TiledCiphertexts> Remake(const Instance& instance, size_t block,
                                          const ckks::EvaluationKeys& keys) const;

  Gallery::Impl before_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<StoreLock> lock_;
  std::unique_ptr<CheckedWriter> writer_;
  uint32_t number_ = 0;
  GalleryHead head_;
  std::vector<BlockInfo> infos_;
  std::map<uint64_t, Run> runs_;
  TemplateMarks sought_;                     // what the last RunsOf looked for
  std::set<uint64_t> sought_runs_;           // and where it may be
  std::map<std::string, PersonId> persons_;  // of identities that this change has used
  std::set<size_t> changed_;                 // blocks
  std::set<size_t> exchanging_;              // blocks that nothing may join
  std::map<size_t, std::string> damaged_;    // the same
  std::set<size_t> sound_;                   // blocks that were checked
  absl::Status writing_;                     // why there is no transaction after a commit
  uint64_t now_ = 0;
  bool touched_ = false;
  bool unlisted_ = false;  // it was just started
};

}  // namespace heft

#endif  // HEFT_GALLERY_CHANGE_H_
