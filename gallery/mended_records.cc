// SPDX-License-Identifier: Apache-2.0
// GalleryChange: damaged records are written again from their copies, made again from the roster,
// or dropped (gallery/checked_store.h).
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gallery/change.h"

namespace heft {
namespace {

std::vector<SampleDigest> SamplesOf(const Resident& resident) {
  std::vector<SampleDigest> samples = resident.parts;
  samples.push_back(resident.sample);
  std::erase(samples, SampleDigest{});
  return samples;
}

}  // namespace

// One that cannot be mended, because both copies are damaged or it is a pending enrolment, stays.
absl::StatusOr<bool> GalleryChange::MendRecord(const Damage& damage) {
  const auto& [table, key, intact] = damage;
  if (key.empty()) return false;                               // Store::Rebuild
  if (table != Table::kCatalog && !OfGallery(number_, key)) {  // at a wrong key
    HEFT_RETURN_IF_ERROR(writer_->Delete(table, key));
    return true;
  }
  if (!IsStoredTwice(table)) {
    if (table == Table::kPendingFile) {
      HEFT_ASSIGN_OR_RETURN(const auto waits, writer_->Get(Table::kPending, key));
      if (waits) return false;
    }
    HEFT_RETURN_IF_ERROR(writer_->Delete(table, key));
    return true;
  }
  if (!intact) return false;
  const auto value = writer_->Get(table, key);
  if (!value.ok() || !*value) {  // one at a wrong key
    HEFT_RETURN_IF_ERROR(writer_->Delete(table, key));
    return true;
  }
  const std::vector<uint8_t> bytes((*value)->begin(), (*value)->end());
  HEFT_RETURN_IF_ERROR(writer_->Put(table, key, bytes));
  return true;
}

absl::StatusOr<size_t> GalleryChange::MendRecords() {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Damage> found, FindDamage(writer_->raw(), number_));
  size_t mended = 0;
  for (const Damage& damage : found) {
    HEFT_ASSIGN_OR_RETURN(const bool done, MendRecord(damage));
    mended += done ? 1 : 0;
  }
  HEFT_RETURN_IF_ERROR(MendIndices());
  for (size_t block = 0; block < infos_.size(); ++block) {
    const StoreKey key = RunDigestsKey(number_, block);
    const auto known = writer_->Get(Table::kBlockInfo, key);
    if (known.ok() && *known) continue;
    const auto digests = ReadRunDigests(*writer_, number_, block, head_);
    if (absl::IsDataLoss(digests.status())) continue;  // CheckRoster
    HEFT_RETURN_IF_ERROR(digests.status());
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kBlockInfo, key, *digests));
  }
  return mended;
}

absl::Status GalleryChange::CheckRoster() const {
  std::vector<std::string> wrong;
  const uint64_t per_block = std::max<uint64_t>(1, head_.block_places / kRunPlaces);
  for (size_t block = 0; block < infos_.size(); ++block) {
    uint64_t live = 0, leaving = 0;
    std::vector<std::string> empty;
    for (uint64_t number = block * per_block; number < (block + 1) * per_block; ++number) {
      if (number * kRunPlaces >= head_.places) break;
      const auto run = PeekRun(number);
      if (!absl::IsDataLoss(run.status())) HEFT_RETURN_IF_ERROR(run.status());
      uint64_t templates = 0;
      for (size_t i = 0; run.ok() && i < kRunPlaces; ++i) {
        live += (*run)[i].state == PlaceState::kLive ? 1 : 0;
        leaving += (*run)[i].state == PlaceState::kLeaving ? 1 : 0;
        templates += (*run)[i].state != PlaceState::kFree ? 1 : 0;
      }
      if (templates == 0) empty.push_back(absl::StrCat("run ", number, " of the roster"));
    }
    if (live == infos_[block].live && leaving == infos_[block].leaving) continue;
    wrong.insert(wrong.end(), empty.begin(), empty.end());
    if (empty.empty()) wrong.push_back(absl::StrCat("the roster of block ", block));
  }
  if (wrong.empty()) return absl::OkStatus();
  constexpr size_t kNamed = 20;
  const size_t more = wrong.size() - std::min(wrong.size(), kNamed);
  wrong.resize(wrong.size() - more);
  return OfStore(
      absl::DataLossError(absl::StrCat(before_.What(), ": ", absl::StrJoin(wrong, ", "),
                                       more > 0 ? absl::StrCat(" and ", more, " more") : "",
                                       more + wrong.size() > 1 ? " have" : " has",
                                       " lost people, whose templates are still in their blocks: "
                                       "restore the gallery from a snapshot "
                                       "(`heft-server gallery restore`)")));
}

absl::Status GalleryChange::MendIndices() {
  const auto put = [&](const SampleDigest& sample, uint64_t place) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const auto there, FindSample(sample));
    if (there) return absl::OkStatus();
    ByteWriter writer;
    writer.U64(place);
    return writer_->Put(Table::kSamples, DigestKey(number_, sample), writer.bytes());
  };
  for (uint64_t first = 0; first < head_.places; first += kRunPlaces) {
    const auto run = PeekRun(first / kRunPlaces);
    if (absl::IsDataLoss(run.status())) continue;  // CheckRoster
    HEFT_RETURN_IF_ERROR(run.status());
    // The positions of a run without a record may have templates: the record may be lost.
    HEFT_ASSIGN_OR_RETURN(const auto stored,
                          writer_->Get(Table::kRoster, RunKey(number_, first / kRunPlaces)));
    if (!stored) continue;
    for (uint64_t at = first; at < std::min(first + kRunPlaces, head_.places); ++at) {
      const Resident& r = (*run)[at - first];
      if (r.state == PlaceState::kFree) {
        const StoreKey key = NumberKey(number_, at);
        HEFT_ASSIGN_OR_RETURN(const auto listed, writer_->Get(Table::kFree, key));
        if (!listed) HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, key, {}));
      }
      if (r.state != PlaceState::kLive) continue;
      HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, Find(r.identity));
      if (!std::ranges::binary_search(named.places, at)) {
        HEFT_RETURN_IF_ERROR(Name(r.identity, [&](NamedPlaces* places) {
          places->places.insert(std::ranges::lower_bound(places->places, at), at);
        }));
      }
      for (const SampleDigest& sample : SamplesOf(r)) HEFT_RETURN_IF_ERROR(put(sample, at));
    }
  }
  std::map<std::string, uint32_t> pending;
  HEFT_ASSIGN_OR_RETURN(const auto entries, before_.PendingEnrolments());
  for (const auto& entry : entries) {
    for (const std::string& name : entry.record.identities) ++pending[name];
    for (const SampleDigest& sample : entry.record.samples) {
      if (sample != SampleDigest{}) HEFT_RETURN_IF_ERROR(put(sample, kPendingPlace));
    }
  }
  for (const auto& [name, count] : pending) {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces known, Find(name));
    if (known.pending == count) continue;
    HEFT_RETURN_IF_ERROR(Name(name, [&, n = count](NamedPlaces* named) { named->pending = n; }));
  }
  return absl::OkStatus();
}

}  // namespace heft
