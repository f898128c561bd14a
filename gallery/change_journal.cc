// SPDX-License-Identifier: Apache-2.0
// GalleryChange: entries of the journal, until they are in checkpoints and beyond.
#include <algorithm>
#include <utility>

#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "gallery/change.h"

namespace heft {
namespace {

// Entries of the journal that a change retires at most.
constexpr size_t kRetiredAChange = 256;

}  // namespace

absl::Status GalleryChange::FoldBlock(const Instance& instance, size_t block,
                                      std::span<const uint64_t> entries,
                                      const ckks::EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, ReadCheckpoint(instance, block));
  // A call at a time: their bytes may be many.
  for (size_t first = 0; first < entries.size(); first += kTemplatesACall) {
    const auto call = entries.subspan(first, std::min(kTemplatesACall, entries.size() - first));
    HEFT_RETURN_IF_ERROR(AddNumbered(instance, call, keys, &data));
    infos_[block].wear.wear += AdditionVariance(instance.params(), instance.plan, call.size());
  }
  infos_[block].pending = Digest{};
  return WriteCheckpoint(block, data);
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
  std::map<size_t, std::vector<uint64_t>> by_block;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(writer_->Scan(
      Table::kJournal, NumberKey(number_, head_.folded + 1), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto entry = ParseEntry(value, "the gallery's journal");
        status = entry.status();
        if (status.ok()) by_block[entry->position / head_.block_places].push_back(NumberOf(key));
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  for (const auto& [block, entries] : by_block) {
    HEFT_RETURN_IF_ERROR(FoldBlock(instance, block, entries, keys));
  }
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFolds, NumberKey(number_, head_.next_entry - 1),
                                    SerializeFold({head_.folded + 1, now_})));
  head_.folded = head_.next_entry - 1;
  return absl::OkStatus();
}

absl::Status GalleryChange::EmptyEntry(uint64_t number) {
  const StoreKey key = NumberKey(number_, number);
  HEFT_ASSIGN_OR_RETURN(const auto value, writer_->Get(Table::kJournal, key));
  if (!value) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(JournalEntry entry, ParseEntry(*value, "the gallery's journal"));
  const size_t before = value->size();
  entry.fused = {};
  entry.contribution = {};
  const std::vector<uint8_t> bytes = SerializeEntry(entry);
  head_.entry_bytes -= std::min<uint64_t>(head_.entry_bytes, before - bytes.size());
  return writer_->Put(Table::kJournal, key, bytes);
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
  HEFT_ASSIGN_OR_RETURN(const auto value, writer_->Get(Table::kJournal, key));
  if (!value) return absl::OkStatus();
  head_.entry_bytes -= std::min<uint64_t>(head_.entry_bytes, value->size());
  return writer_->Delete(Table::kJournal, key);
}

// Whole folds: what is left of one could not be taken back exactly.
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
    for (uint64_t number = fold.first; number <= last; ++number, ++retired) {
      HEFT_RETURN_IF_ERROR(DropEntry(number));
    }
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kFolds, NumberKey(number_, last)));
    head_.retired = last;
  }
  return absl::OkStatus();
}

}  // namespace heft
