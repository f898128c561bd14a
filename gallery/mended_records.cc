// SPDX-License-Identifier: Apache-2.0
// GalleryChange: damaged records are written again from their copies, made again from the roster,
// or dropped (gallery/checked_store.h).
#include <algorithm>
#include <map>

#include "gallery/change.h"

namespace heft {
namespace {

bool IsIndex(Table table) {
  return table == Table::kNames || table == Table::kSamples || table == Table::kFree;
}

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

absl::StatusOr<size_t> GalleryChange::MendRecords(bool rebuilt) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Damage> found, FindDamage(writer_->raw(), number_));
  size_t mended = 0;
  bool indices = rebuilt;
  for (const Damage& damage : found) {
    HEFT_ASSIGN_OR_RETURN(const bool done, MendRecord(damage));
    mended += done ? 1 : 0;
    indices = indices || IsIndex(damage.table);
  }
  if (indices) HEFT_RETURN_IF_ERROR(MendIndices());
  for (size_t block = 0; rebuilt && block < infos_.size(); ++block) {
    HEFT_ASSIGN_OR_RETURN(const auto digests, ReadRunDigests(*writer_, number_, block, head_));
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kBlockInfo, RunDigestsKey(number_, block), digests));
  }
  return mended;
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
    HEFT_ASSIGN_OR_RETURN(const Run run, PeekRun(first / kRunPlaces));
    for (uint64_t at = first; at < std::min(first + kRunPlaces, head_.places); ++at) {
      const Resident& r = run[at - first];
      if (r.state == PlaceState::kFree) {
        HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, at), {}));
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
    HEFT_RETURN_IF_ERROR(Name(name, [&, n = count](NamedPlaces* named) { named->pending = n; }));
  }
  return absl::OkStatus();
}

}  // namespace heft
