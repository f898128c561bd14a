// SPDX-License-Identifier: Apache-2.0
// GalleryChange: checkpoints, and what removals and renewals do to blocks.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "fusion/key_files.h"
#include "gallery/change.h"
#include "gallery/removal.h"

namespace heft {

absl::StatusOr<TiledCiphertexts> GalleryChange::ReadCheckpoint(const Instance& instance,
                                                               size_t block) const {
  const uint32_t gamma = head_.binding.gamma;
  if (infos_[block].checkpoint == Digest{}) return EmptyBlock(*instance.context, gamma);
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        writer_->Get(Table::kBlocks, BlockKey(number_, head_.epoch, block)));
  const std::string what = absl::StrCat("block ", block, " of the gallery");
  if (!bytes) return absl::DataLossError(absl::StrCat(what, " is missing"));
  BlockView view;
  HEFT_ASSIGN_OR_RETURN(const BlockHeader header,
                        ParseBlock(*bytes, TiledSize(*instance.context, gamma), what, &view));
  // A damaged block must not spread into its successor.
  if (header.hash != infos_[block].checkpoint || ResiduesHash(view) != header.hash) {
    return absl::DataLossError(absl::StrCat(
        what, " is damaged: restore it from a snapshot (`heft-server gallery restore`)"));
  }
  return TiledCiphertexts(view.begin(), view.end());
}

void GalleryChange::SetDamaged(size_t block, const std::string& why) {
  damaged_[block] = why;
  if (block < before_.blocks()) before_.NoteDamaged(block, why);
}

// By its checksum, which takes a tenth of a millisecond; a fold looks at its hash.
absl::StatusOr<bool> GalleryChange::IsSound(const Instance& instance, size_t block) {
  if (damaged_.contains(block)) return false;
  const Digest& checkpoint = infos_[block].checkpoint;
  const bool known = sound_.contains(block) || checkpoint == Digest{} ||
                     (before_.cache_ != nullptr && before_.cache_->Checked(block, checkpoint));
  const auto pending = static_cast<size_t>(
      std::ranges::count_if(before_.pending_, [&](const Gallery::Impl::Pending& p) {
        return p.entry.position / head_.block_places == block;
      }));
  if (pending > kMaxPending) {
    SetDamaged(block, absl::StrCat("block ", block, " of the gallery could not be folded"));
    return false;
  }
  if (known) return true;
  const std::string what = absl::StrCat("block ", block, " of the gallery");
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        writer_->Get(Table::kBlocks, BlockKey(number_, head_.epoch, block)));
  BlockView view;
  const auto header =
      bytes ? ParseBlock(*bytes, TiledSize(*instance.context, head_.binding.gamma), what, &view)
            : absl::DataLossError(absl::StrCat(what, " is missing"));
  if (!header.ok()) {
    SetDamaged(block, std::string(header.status().message()));
    return false;
  }
  if (header->hash != checkpoint || FastChecksum({reinterpret_cast<const uint8_t*>(view.data()),
                                                  view.size_bytes()}) != header->checksum) {
    SetDamaged(block, absl::StrCat(what, " is damaged"));
    return false;
  }
  sound_.insert(block);
  return true;
}

// A sum does not depend on the order of its calls, or on calls that were taken back.
absl::StatusOr<TiledCiphertexts> GalleryChange::Remake(const Instance& instance, size_t block,
                                                       const ckks::EvaluationKeys& keys) const {
  std::vector<std::pair<uint64_t, uint64_t>> folds;  // first and last
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      writer_->Scan(Table::kFolds, NumberKey(number_, 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto fold = ParseFold(value, "the gallery's folds");
        status = fold.status();
        if (status.ok()) folds.emplace_back(fold->first, NumberOf(key));
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  TiledCiphertexts data = EmptyBlock(*instance.context, head_.binding.gamma);
  for (const auto& [first, last] : folds) {
    std::vector<uint64_t> entries;
    HEFT_RETURN_IF_ERROR(writer_->Scan(
        Table::kJournal, NumberKey(number_, first), [&, end = last](ByteSpan key, ByteSpan value) {
          if (!OfGallery(number_, key) || NumberOf(key) > end) return false;
          const auto entry = ParseEntry(value, "the gallery's journal");
          status = entry.status();
          if (status.ok() && entry->position / head_.block_places == block) {
            entries.push_back(NumberOf(key));
          }
          return status.ok();
        }));
    HEFT_RETURN_IF_ERROR(status);
    for (size_t i = 0; i < entries.size(); i += kTemplatesACall) {
      const auto call =
          std::span(entries).subspan(i, std::min(kTemplatesACall, entries.size() - i));
      HEFT_ASSIGN_OR_RETURN(const size_t count, CountEntries(call));
      if (count > 0) HEFT_RETURN_IF_ERROR(AddNumbered(instance, call, keys, &data));
    }
  }
  if (ResiduesHash(data) == infos_[block].checkpoint) return data;
  return absl::DataLossError("the journal does not have all of its templates");
}

absl::StatusOr<TiledCiphertexts> GalleryChange::ReadOrRemake(const Instance& instance, size_t block,
                                                             const ckks::EvaluationKeys& keys) {
  auto data = ReadCheckpoint(instance, block);
  if (!absl::IsDataLoss(data.status())) return data;
  auto remade = Remake(instance, block, keys);
  if (remade.ok()) {
    damaged_.erase(block);
    return remade;
  }
  if (!absl::IsDataLoss(remade.status())) return remade.status();
  SetDamaged(block, std::string(data.status().message()));
  return data.status();
}

absl::StatusOr<size_t> GalleryChange::Mend(const Instance& instance,
                                           const ckks::EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckKeyId(head_.binding.key_id, keys.key_id, "evaluation keys"));
  size_t mended = 0;
  for (size_t block = 0; block < infos_.size(); ++block) {
    HEFT_ASSIGN_OR_RETURN(const bool sound, IsSound(instance, block));
    if (sound) continue;
    if (ReadCheckpoint(instance, block).ok()) continue;  // its entries are
    const auto data = ReadOrRemake(instance, block, keys);
    if (absl::IsDataLoss(data.status())) continue;
    HEFT_RETURN_IF_ERROR(data.status());
    HEFT_RETURN_IF_ERROR(WriteCheckpoint(block, *data));
    ++mended;
  }
  return mended;
}

absl::Status GalleryChange::WriteCheckpoint(size_t block, const TiledCiphertexts& data) {
  BlockHeader header;
  header.block = block;
  header.generation = head_.generation + 1;
  header.gamma = head_.binding.gamma;
  header.checksum =
      FastChecksum({reinterpret_cast<const uint8_t*>(data.data()), data.size() * sizeof(uint32_t)});
  header.hash = ResiduesHash(data);
  infos_[block].checkpoint = header.hash;
  infos_[block].generation = header.generation;
  sound_.insert(block);
  changed_.insert(block);
  Touch();
  return writer_->Put(Table::kBlocks, BlockKey(number_, head_.epoch, block),
                      SerializeBlock(header, data));
}

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

absl::Status GalleryChange::ClearBlock(size_t block) {
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t position = first; position < first + head_.block_places; ++position) {
    HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
    if (resident->entry > head_.retired) {
      HEFT_RETURN_IF_ERROR(EmptyEntry(resident->entry, position));
    }
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

absl::Status GalleryChange::RemovePosition(const std::string& identity, uint64_t from) {
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

// Names and samples stay as they are: at a million they are everywhere in the file.
absl::Status GalleryChange::RenewInPlace(size_t block, size_t stay,
                                         const std::function<double(double)>& clean) {
  const uint64_t first = block * uint64_t{head_.block_places};
  BlockInfo& info = infos_[block];
  for (uint64_t i = 0; i < head_.block_places; ++i) {
    HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(first + i));
    if (resident->state == PlaceState::kLeaving) {
      *resident = Resident{};
      --info.leaving;
      --head_.leaving;
      HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, first + i), {}));
    } else if (resident->state == PlaceState::kLive) {
      // A contribution from a call of the journal can no longer be taken back exactly.
      if (resident->entry > head_.retired) {
        HEFT_RETURN_IF_ERROR(EmptyEntry(resident->entry, first + i));
      }
      resident->entry = 0;
      resident->contribution = {};
      resident->clean = clean(resident->clean);
    }
  }
  if (info.live != stay || info.leaving != 0) {
    return absl::DataLossError(absl::StrCat("block ", block, " holds ", info.live,
                                            " templates, and ", stay, " were renewed"));
  }
  Touch();
  return absl::OkStatus();
}

absl::Status GalleryChange::SetAddedError(size_t block, double added, double clean) {
  const uint64_t first = block * uint64_t{head_.block_places};
  for (uint64_t i = 0; i < head_.block_places; ++i) {
    HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(first + i));
    if (resident->state == PlaceState::kFree) resident->clean = clean;
  }
  infos_[block].error.added = added;
  return RecountClean(block);
}

absl::Status GalleryChange::RecountClean(size_t block) {
  BlockInfo& info = infos_[block];
  if (info.live + info.leaving == 0) {
    if (info.checkpoint == Digest{} && info.pending == Digest{}) return absl::OkStatus();
    return ClearBlock(block);
  }
  const uint64_t first = block * uint64_t{head_.block_places};
  double least = info.error.added;
  for (uint64_t i = 0; i < head_.block_places; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Resident* resident, Place(first + i));
    if (resident->state != PlaceState::kFree) least = std::min(least, resident->clean);
  }
  info.error.least_clean = least;
  changed_.insert(block);
  return absl::OkStatus();
}

}  // namespace heft
