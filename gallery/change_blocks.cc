// SPDX-License-Identifier: Apache-2.0
// GalleryChange: what removals and renewals do to blocks.
#include <algorithm>

#include "gallery/change.h"
#include "gallery/removal.h"

namespace heft {

absl::Status GalleryChange::LoadExchanges() {
  absl::Status status;
  std::vector<StoreKey> over;
  HEFT_RETURN_IF_ERROR(
      writer_->Scan(Table::kExchanges, HeadKey(number_), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto exchange = ParseExchange(value, "an exchange");
        status = exchange.status();
        if (!status.ok()) return false;
        if (exchange->asked + kExchangeLife < now_) {
          over.emplace_back(key.begin(), key.end());
          return true;
        }
        for (const ExchangeRecord::Source& source : exchange->sources) {
          exchanging_.insert(source.block);
        }
        return true;
      }));
  HEFT_RETURN_IF_ERROR(status);
  for (const StoreKey& key : over) HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kExchanges, key));
  return absl::OkStatus();
}

absl::Status GalleryChange::EndExchanges(size_t block) {
  if (!exchanging_.contains(block)) return absl::OkStatus();
  std::vector<StoreKey> over;
  HEFT_RETURN_IF_ERROR(
      writer_->Scan(Table::kExchanges, HeadKey(number_), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto exchange = ParseExchange(value, "an exchange");
        const bool of_block =
            !exchange.ok() ||
            std::ranges::count(exchange->sources, block, &ExchangeRecord::Source::block) > 0;
        if (of_block) over.emplace_back(key.begin(), key.end());
        return true;
      }));
  for (const StoreKey& key : over) HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kExchanges, key));
  exchanging_.clear();
  return LoadExchanges();
}

absl::Status GalleryChange::AddExchange(ByteSpan id, const ExchangeRecord& exchange) {
  for (const ExchangeRecord::Source& source : exchange.sources) exchanging_.insert(source.block);
  return writer_->Put(Table::kExchanges, DigestKey(number_, id), SerializeExchange(exchange));
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

absl::Status GalleryChange::ClearBlock(size_t block) {
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t position = first; position < first + head_.block_places; ++position) {
    HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
    if (resident->entry > head_.retired) HEFT_RETURN_IF_ERROR(EmptyEntry(resident->entry));
    *resident = Resident{};
    if (position >= head_.places) continue;
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, position), {}));
  }
  BlockInfo& info = infos_[block];
  head_.live -= info.live;
  head_.leaving -= info.leaving;
  const Digest roster = info.roster;
  info = BlockInfo{};
  info.roster = roster;  // until the runs are flushed
  changed_.insert(block);
  Touch();
  return writer_->Delete(Table::kBlocks, BlockKey(number_, head_.epoch, block));
}

absl::Status GalleryChange::Unname(const std::string& identity, uint64_t from) {
  return Name(identity, [&](NamedPlaces* named) { std::erase(named->places, from); });
}

absl::Status GalleryChange::Resettle(uint64_t to, const Resident& resident, double clean) {
  HEFT_ASSIGN_OR_RETURN(Resident * place, Place(to));
  *place = resident;
  place->clean = clean;
  place->entry = 0;
  place->contribution = {};
  BlockInfo& info = infos_[to / head_.block_places];
  ++info.live;
  ++head_.live;
  HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kFree, NumberKey(number_, to)));
  if (to >= head_.places) head_.places = to + 1;
  HEFT_RETURN_IF_ERROR(Name(resident.identity, [&](NamedPlaces* named) {
    named->places.insert(std::ranges::lower_bound(named->places, to), to);
  }));
  ByteWriter at;
  at.U64(to);
  std::vector<SampleDigest> samples = resident.parts;
  samples.push_back(resident.sample);
  for (const SampleDigest& sample : samples) {
    if (sample == SampleDigest{}) continue;
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kSamples, DigestKey(number_, sample), at.bytes()));
  }
  return absl::OkStatus();
}

absl::Status GalleryChange::SetWear(size_t block, double wear, double clean) {
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t i = 0; i < head_.block_places; ++i) {
    HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(first + i));
    if (resident->state == PlaceState::kFree) resident->clean = clean;
  }
  infos_[block].wear.wear = wear;
  return RecountClean(block);
}

absl::Status GalleryChange::RecountClean(size_t block) {
  BlockInfo& info = infos_[block];
  if (info.live + info.leaving == 0) {
    if (info.checkpoint == Digest{} && info.pending == Digest{}) return absl::OkStatus();
    return ClearBlock(block);
  }
  const uint64_t first = block * uint64_t{head_.block_places};
  double least = info.wear.wear;
  for (uint64_t i = 0; i < head_.block_places; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Resident* resident, Place(first + i));
    if (resident->state != PlaceState::kFree) least = std::min(least, resident->clean);
  }
  info.wear.least_clean = least;
  changed_.insert(block);
  return absl::OkStatus();
}

}  // namespace heft
