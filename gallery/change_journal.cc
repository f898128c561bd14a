// SPDX-License-Identifier: Apache-2.0
// GalleryChange: entries of the journal, until they are in checkpoints and beyond.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "gallery/change.h"

namespace heft {
namespace {

// Entries of the journal that a change retires at most.
constexpr size_t kRetiredAChange = 256;

}  // namespace

// PendingOf: entries of a block that are in no checkpoint, in their order, and the chain over them.
struct GalleryChange::PendingOf {
  std::vector<uint64_t> entries;
  Digest chain{};
  bool damaged = false;  // one of them is not the ciphertext that its digest names
};

absl::StatusOr<std::map<size_t, GalleryChange::PendingOf>> GalleryChange::PendingByBlock() const {
  std::map<size_t, PendingOf> by_block;
  HEFT_RETURN_IF_ERROR(writer_->Scan(
      Table::kJournal, NumberKey(number_, head_.folded + 1), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        // One that cannot be read is missed by its block's chain.
        const auto entry = ParseEntry(value, "the gallery's journal");
        if (!entry.ok() || entry->position >= head_.places) return true;
        PendingOf& pending = by_block[entry->position / head_.block_places];
        pending.entries.push_back(NumberOf(key));
        pending.chain = Chained(pending.chain, entry->position, entry->contribution);
        if (Digest(HashBytes(entry->fused)) != entry->contribution) pending.damaged = true;
        return true;
      }));
  return by_block;
}

// SplitLost: leaves the intact entries of a block, by its roster, and returns the others, with the
// chain over these.
absl::StatusOr<GalleryChange::PendingOf> GalleryChange::SplitLost(size_t block,
                                                                  PendingOf* pending) {
  std::map<uint64_t, std::pair<uint64_t, Digest>> lost;  // position and contribution, by entry
  std::vector<uint64_t> intact;
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t position = first; position < first + head_.block_places; ++position) {
    HEFT_ASSIGN_OR_RETURN(const Resident* resident, Place(position));
    if (resident->state != PlaceState::kLive || resident->entry <= head_.folded) continue;
    const auto value = writer_->Get(Table::kJournal, NumberKey(number_, resident->entry));
    if (!value.ok() && !absl::IsDataLoss(value.status())) return value.status();
    const auto entry = value.ok() && *value ? ParseEntry(**value, "an entry of the journal")
                                            : absl::DataLossError("missing");
    if (entry.ok() && IsEntryOf(*resident, position, *entry)) {
      intact.push_back(resident->entry);
    } else {
      lost[resident->entry] = {position, resident->contribution};
    }
  }
  std::ranges::sort(intact);
  pending->entries = std::move(intact);
  PendingOf out;
  for (const auto& [entry, of] : lost) {
    out.entries.push_back(entry);
    out.chain = Chained(out.chain, of.first, of.second);
  }
  return out;
}

absl::StatusOr<bool> GalleryChange::FoldBlock(const Instance& instance, size_t block,
                                              PendingOf pending, const ckks::EvaluationKeys& keys,
                                              PendingOf* lost) {
  if (pending.damaged || pending.chain != infos_[block].pending) {
    HEFT_ASSIGN_OR_RETURN(*lost, SplitLost(block, &pending));
    if (pending.entries.empty()) return false;
  }
  HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, ReadOrRemake(instance, block, keys));
  double added = infos_[block].error.added;
  // A call at a time: their bytes may be many.
  const std::span<const uint64_t> entries = pending.entries;
  for (size_t first = 0; first < entries.size(); first += kTemplatesACall) {
    const auto call = entries.subspan(first, std::min(kTemplatesACall, entries.size() - first));
    HEFT_RETURN_IF_ERROR(AddNumbered(instance, call, keys, &data));
    added += AdditionVariance(instance.params(), instance.plan, call.size());
  }
  infos_[block].error.added = added;
  infos_[block].pending = lost->chain;
  HEFT_RETURN_IF_ERROR(WriteCheckpoint(block, data));
  return true;
}

absl::Status GalleryChange::AddNumbered(const Instance& instance, std::span<const uint64_t> entries,
                                        const ckks::EvaluationKeys& keys, TiledCiphertexts* data,
                                        bool taken) const {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<JournalEntry> parsed;
  for (const uint64_t number : entries) {
    HEFT_ASSIGN_OR_RETURN(const auto value,
                          writer_->Get(Table::kJournal, NumberKey(number_, number)));
    if (!value) return absl::DataLossError("an entry of the gallery's journal is missing");
    HEFT_ASSIGN_OR_RETURN(JournalEntry entry, ParseEntry(*value, "the gallery's journal"));
    if (entry.fused.empty()) continue;  // taken back
    bytes.emplace_back(entry.fused.begin(), entry.fused.end());
    entry.fused = bytes.back();
    parsed.push_back(entry);
  }
  std::vector<const JournalEntry*> pointers;
  for (const JournalEntry& entry : parsed) pointers.push_back(&entry);
  return AddEntries(instance, head_.block_places, pointers, keys, data, taken);
}

absl::Status GalleryChange::Fold(const Instance& instance, const ckks::EvaluationKeys& keys) {
  if (head_.folded + 1 == head_.next_entry) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(CheckKeyId(head_.binding.key_id, keys.key_id, "evaluation keys"));
  HEFT_ASSIGN_OR_RETURN(auto by_block, PendingByBlock());
  std::map<size_t, std::optional<std::set<uint64_t>>> stuck;  // entries of blocks; none: all
  size_t done = 0;
  for (size_t block = 0; block < infos_.size(); ++block) {
    if (infos_[block].pending == Digest{}) continue;
    PendingOf lost;
    const auto folded = FoldBlock(instance, block, by_block[block], keys, &lost);
    if (absl::IsDataLoss(folded.status())) {
      SetDamaged(block, std::string(folded.status().message()));
      stuck[block] = std::nullopt;
      continue;
    }
    HEFT_RETURN_IF_ERROR(folded.status());
    done += *folded ? 1 : 0;
    if (!lost.entries.empty()) stuck[block].emplace(lost.entries.begin(), lost.entries.end());
  }
  if (done == 0) return absl::OkStatus();
  const uint64_t folded = head_.folded;
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFolds, NumberKey(number_, head_.next_entry - 1),
                                    SerializeFold({folded + 1, now_})));
  head_.folded = head_.next_entry - 1;
  for (const auto& [block, which] : stuck) {
    HEFT_RETURN_IF_ERROR(CarryEntries(block, folded, which));
  }
  return absl::OkStatus();
}

// Uses the roster: a template whose entry is lost must stay missing.
absl::Status GalleryChange::CarryEntries(size_t block, uint64_t folded,
                                         const std::optional<std::set<uint64_t>>& which) {
  std::map<uint64_t, uint64_t> positions;  // by entry
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t position = first; position < first + head_.block_places; ++position) {
    HEFT_ASSIGN_OR_RETURN(const Resident* resident, Place(position));
    if (resident->entry <= folded) continue;
    if (!which || which->contains(resident->entry)) positions[resident->entry] = position;
  }
  for (const auto& [entry, position] : positions) {
    const StoreKey key = NumberKey(number_, entry);
    const auto value = writer_->Get(Table::kJournal, key);
    if (!value.ok() && !absl::IsDataLoss(value.status())) return value.status();
    const bool there = value.ok() && *value;
    const std::vector<uint8_t> bytes =
        there ? std::vector<uint8_t>((*value)->begin(), (*value)->end()) : std::vector<uint8_t>();
    HEFT_RETURN_IF_ERROR(VoidEntry(entry));
    if (there) {
      HEFT_RETURN_IF_ERROR(
          writer_->Put(Table::kJournal, NumberKey(number_, head_.next_entry), bytes));
    }
    HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
    resident->entry = head_.next_entry++;
  }
  return absl::OkStatus();
}

// Not counted are those that no fold takes.
absl::StatusOr<bool> GalleryChange::IsTooMany(const Instance& instance) {
  if (head_.next_entry - 1 - head_.folded <= kMaxPending) return false;
  HEFT_ASSIGN_OR_RETURN(const auto by_block, PendingByBlock());
  size_t count = 0;
  for (const auto& [block, pending] : by_block) {
    HEFT_ASSIGN_OR_RETURN(const bool sound, IsSound(instance, block));
    count += sound ? pending.entries.size() : 0;
  }
  return count > kMaxPending;
}

absl::Status GalleryChange::FoldIfMany(const Instance& instance, const ckks::EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(const bool many, IsTooMany(instance));
  return many ? Fold(instance, keys) : absl::OkStatus();
}

absl::Status GalleryChange::Rechain(size_t block) {
  std::map<uint64_t, std::pair<uint64_t, Digest>> entries;
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t position = first; position < first + head_.block_places; ++position) {
    HEFT_ASSIGN_OR_RETURN(const Resident* resident, Place(position));
    if (resident->entry > head_.folded) {
      entries[resident->entry] = {position, resident->contribution};
    }
  }
  Digest chain{};
  for (const auto& [entry, of] : entries) chain = Chained(chain, of.first, of.second);
  infos_[block].pending = chain;
  changed_.insert(block);
  return absl::OkStatus();
}

absl::Status GalleryChange::EmptyEntry(uint64_t number, uint64_t position) {
  const StoreKey key = NumberKey(number_, number);
  const auto value = writer_->Get(Table::kJournal, key);
  if (absl::IsDataLoss(value.status())) {
    JournalEntry empty;
    empty.position = position;
    return writer_->Put(Table::kJournal, key, SerializeEntry(empty));
  }
  HEFT_RETURN_IF_ERROR(value.status());
  if (!*value) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(JournalEntry entry, ParseEntry(**value, "the gallery's journal"));
  const size_t before = (*value)->size();
  entry.fused = {};
  entry.contribution = {};
  const std::vector<uint8_t> bytes = SerializeEntry(entry);
  head_.entry_bytes -= std::min<uint64_t>(head_.entry_bytes, before - bytes.size());
  return writer_->Put(Table::kJournal, key, bytes);
}

absl::Status GalleryChange::LeaveEntry(uint64_t number, uint64_t position) {
  JournalEntry left;
  left.position = position;
  left.contribution = kLeftContribution;
  const std::vector<uint8_t> bytes = SerializeEntry(left);
  HEFT_RETURN_IF_ERROR(DropEntry(number));
  head_.entry_bytes += bytes.size();
  return writer_->Put(Table::kJournal, NumberKey(number_, number), bytes);
}

absl::Status GalleryChange::VoidEntry(uint64_t number) {
  JournalEntry none;
  none.position = kNoPlace;
  const std::vector<uint8_t> bytes = SerializeEntry(none);
  HEFT_RETURN_IF_ERROR(DropEntry(number));
  head_.entry_bytes += bytes.size();
  return writer_->Put(Table::kJournal, NumberKey(number_, number), bytes);
}

absl::StatusOr<size_t> GalleryChange::CountEntries(std::span<const uint64_t> entries) const {
  size_t count = 0;
  for (const uint64_t number : entries) {
    HEFT_ASSIGN_OR_RETURN(const auto value,
                          writer_->Get(Table::kJournal, NumberKey(number_, number)));
    if (!value) continue;
    HEFT_ASSIGN_OR_RETURN(const JournalEntry entry, ParseEntry(*value, "the gallery's journal"));
    count += entry.fused.empty() ? 0 : 1;
  }
  return count;
}

absl::Status GalleryChange::DropEntry(uint64_t number) {
  const StoreKey key = NumberKey(number_, number);
  const auto value = writer_->Get(Table::kJournal, key);
  if (value.ok() && *value) {
    head_.entry_bytes -= std::min<uint64_t>(head_.entry_bytes, (*value)->size());
  } else if (!absl::IsDataLoss(value.status())) {
    return value.status();
  }
  return writer_->Delete(Table::kJournal, key);
}

// Retires whole folds: the rest of a fold could not be taken back exactly. The entries of a fold
// whose record is damaged retire with the next fold.
absl::Status GalleryChange::RetireEntries() {
  std::vector<std::pair<uint64_t, FoldRecord>> folds;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      writer_->Scan(Table::kFolds, NumberKey(number_, 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key) || NumberOf(key) > head_.folded) return false;
        const auto fold = ParseFold(value, "the gallery's folds");
        status = fold.status();
        if (status.ok()) folds.emplace_back(NumberOf(key), *fold);
        return status.ok() && folds.size() < kRetiredAChange;
      }));
  HEFT_RETURN_IF_ERROR(status);
  size_t retired = 0;
  for (const auto& [last, fold] : folds) {
    const bool old = now_ >= fold.time && now_ - fold.time >= head_.retention.seconds;
    if (retired >= kRetiredAChange || (!old && head_.entry_bytes <= head_.retention.bytes)) break;
    if (fold.first > last || fold.first <= head_.retired) {
      return absl::DataLossError("the gallery's folds are out of order");
    }
    for (uint64_t number = head_.retired + 1; number <= last; ++number, ++retired) {
      HEFT_RETURN_IF_ERROR(DropEntry(number));
    }
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kFolds, NumberKey(number_, last)));
    head_.retired = last;
  }
  return absl::OkStatus();
}

}  // namespace heft
