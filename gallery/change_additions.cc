// SPDX-License-Identifier: Apache-2.0
// GalleryChange: templates that join, one by one and in bulk.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ckks/serialization.h"
#include "gallery/added_error.h"
#include "gallery/change.h"

namespace heft {

absl::Status GalleryChange::AddSingles(const Instance& instance,
                                       std::span<const Enrolment> templates) {
  head_.block_places = 2 * instance.params().slots();
  const ErrorCosts costs = ErrorCostsOf(instance);
  for (const Enrolment& t : templates) {
    HEFT_ASSIGN_OR_RETURN(const uint64_t position, TakePosition(instance, costs));
    ByteWriter fused;
    ckks::WriteCiphertext(fused, *instance.context, t.z);
    const JournalEntry entry = {position, head_.generation + 1, now_, HashBytes(fused.bytes()),
                                fused.bytes()};
    HEFT_RETURN_IF_ERROR(Settle(position, t, entry.contribution));
    BlockInfo& info = infos_[position / head_.block_places];
    info.pending = Chained(info.pending, position, entry.contribution);
    const std::vector<uint8_t> bytes = SerializeEntry(entry);
    HEFT_RETURN_IF_ERROR(
        writer_->Put(Table::kJournal, NumberKey(number_, head_.next_entry), bytes));
    head_.entry_bytes += bytes.size();
    ++head_.next_entry;
  }
  Touch();
  return absl::OkStatus();
}

absl::Status GalleryChange::AddBatch(const Rings& rings, std::span<const Enrolment> of,
                                     TemplateBatch batch, const RingKeys& keys) {
  if (of.size() != batch.count) {
    return absl::InvalidArgumentError(
        absl::StrCat(of.size(), " identities for a batch of ", batch.count));
  }
  const Instance& instance = rings.matching;
  const uint32_t slots = instance.params().slots();
  const uint32_t batch_slots = rings.enrolment.params().slots();
  head_.block_places = 2 * slots;
  HEFT_RETURN_IF_ERROR(Fold(instance, keys.matching));
  const ErrorCosts costs = ErrorCostsOf(instance);
  HEFT_RETURN_IF_ERROR(CloseFull(instance, costs, costs.batch));
  const auto first_slot = static_cast<uint32_t>(head_.places % slots);
  HEFT_RETURN_IF_ERROR(MoveBatch(rings.enrolment, &batch, first_slot,
                                 rings.thin() ? keys.enrolment : keys.matching));
  HEFT_RETURN_IF_ERROR(SplitBatch(rings, keys.ring_switch, &batch));
  for (size_t done = 0; done < of.size();) {
    const uint64_t position = head_.places;
    const size_t block = position / head_.block_places;
    const auto index = static_cast<uint32_t>(position % head_.block_places);
    const Position at = PositionOf(index, slots);
    // A batch may continue in the next lane and the next block.
    const auto count = static_cast<uint32_t>(std::min<size_t>(of.size() - done, slots - at.slot));
    Extend(position + count);
    HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, ReadCheckpoint(instance, block));
    const auto slot = static_cast<uint32_t>((first_slot + done) % batch_slots);
    HEFT_RETURN_IF_ERROR(
        AddBatchToBlock(instance, &data, batch, slot, count, at.lane, keys.matching));
    for (size_t i = 0; i < count; ++i) {
      HEFT_RETURN_IF_ERROR(batch.Joins(static_cast<uint32_t>(done + i))
                               ? Settle(position + i, of[done + i], Digest{})
                               : writer_->Put(Table::kFree, NumberKey(number_, position + i), {}));
    }
    infos_[block].error.added += costs.batch;
    HEFT_RETURN_IF_ERROR(WriteCheckpoint(block, data));
    done += count;
  }
  Touch();
  return absl::OkStatus();
}

}  // namespace heft
