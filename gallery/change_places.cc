// SPDX-License-Identifier: Apache-2.0
// GalleryChange: templates that take and leave positions.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/csprng.h"
#include "base/identity.h"
#include "gallery/added_error.h"
#include "gallery/change.h"

namespace heft {

void GalleryChange::Extend(uint64_t places) {
  head_.places = places;
  infos_.resize((places + head_.block_places - 1) / head_.block_places);
}

std::vector<uint64_t> GalleryChange::AllRuns() const {
  std::vector<uint64_t> runs((head_.places + kRunPlaces - 1) / kRunPlaces);
  std::iota(runs.begin(), runs.end(), 0);
  return runs;
}

absl::StatusOr<std::vector<uint64_t>> GalleryChange::RunsOf(const TemplateMarks& marks) {
  if (!std::ranges::includes(sought_.identities, marks.identities) ||
      !std::ranges::includes(sought_.persons, marks.persons) ||
      !std::ranges::includes(sought_.names, marks.names)) {
    const GalleryHead& head = before_.head();
    auto rows = writer_->FindTemplates(number_, marks, head.live + 2 * head.leaving);
    if (!rows.ok() && !absl::IsDataLoss(rows.status())) return rows.status();
    if (!rows.ok() || !*rows) return AllRuns();
    for (const HashedName& name : marks.names) {
      const auto named = writer_->Get(Table::kNames, DigestKey(number_, name));
      if (absl::IsDataLoss(named.status())) return AllRuns();
      HEFT_RETURN_IF_ERROR(named.status());
      if (!*named) continue;
      HEFT_ASSIGN_OR_RETURN(const NamedPlaces more, ParseNamed(**named, "the index of names"));
      (*rows)->insert((*rows)->end(), more.places.begin(), more.places.end());
    }
    sought_ = marks;
    sought_runs_.clear();
    for (const uint64_t position : **rows) sought_runs_.insert(position / kRunPlaces);
  }
  std::set<uint64_t> runs = sought_runs_;
  for (const auto& [number, run] : runs_) runs.insert(number);  // changed since then
  return std::vector<uint64_t>(runs.begin(), runs.end());
}

absl::StatusOr<std::optional<uint64_t>> GalleryChange::TakeFreed(const Instance& instance,
                                                                 const ErrorCosts& costs) {
  const uint64_t per_block = head_.block_places;
  for (size_t b = 0; b < infos_.size(); ++b) {
    const BlockInfo& info = infos_[b];
    const uint64_t filled = std::min(per_block, head_.places - b * per_block);
    if (info.live + info.leaving >= filled || exchanging_.contains(b)) continue;
    std::optional<uint64_t> position;
    HEFT_RETURN_IF_ERROR(
        writer_->Scan(Table::kFree, NumberKey(number_, b * per_block), [&](ByteSpan key, ByteSpan) {
          if (OfGallery(number_, key)) position = NumberOf(key);
          return false;
        }));
    if (!position || *position >= (b + 1) * per_block) continue;
    HEFT_ASSIGN_OR_RETURN(const Resident* place, Place(*position));
    if (!MayAdd(costs, info.error, place->clean, costs.addition)) continue;
    HEFT_ASSIGN_OR_RETURN(const bool sound, IsSound(instance, b));
    if (!sound) continue;
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kFree, NumberKey(number_, *position)));
    return position;
  }
  return std::optional<uint64_t>();
}

absl::Status GalleryChange::CloseBlock() {
  const uint64_t end = infos_.size() * uint64_t{head_.block_places};
  for (; head_.places < end; ++head_.places) {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, head_.places), {}));
  }
  return absl::OkStatus();
}

absl::Status GalleryChange::CloseFull(const Instance& instance, const ErrorCosts& costs,
                                      double cost) {
  if (head_.places % head_.block_places == 0) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const Resident* next, Place(head_.places));
  const size_t last = infos_.size() - 1;
  bool open = !exchanging_.contains(last) && MayAdd(costs, infos_[last].error, next->clean, cost);
  if (open) {
    HEFT_ASSIGN_OR_RETURN(open, IsSound(instance, last));
  }
  // The rest of a full or damaged block is not used until its templates have gone.
  return open ? absl::OkStatus() : CloseBlock();
}

absl::StatusOr<uint64_t> GalleryChange::TakePosition(const Instance& instance,
                                                     const ErrorCosts& costs) {
  HEFT_ASSIGN_OR_RETURN(const auto freed, TakeFreed(instance, costs));
  if (freed) return *freed;
  HEFT_RETURN_IF_ERROR(CloseFull(instance, costs, costs.addition));
  Extend(head_.places + 1);
  return head_.places - 1;
}

absl::Status GalleryChange::Settle(uint64_t position, const Enrolment& enrolment,
                                   const Digest& contribution) {
  HEFT_RETURN_IF_ERROR(CheckIdentity(enrolment.identity));
  PersonId person{};
  if (const auto known = persons_.find(enrolment.identity); known != persons_.end()) {
    person = known->second;
  } else {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, Find(enrolment.identity));
    if (named.places.empty()) {
      Csprng().Fill(person);
    } else {
      HEFT_ASSIGN_OR_RETURN(const Resident* other, Place(named.places.front()));
      person = other->person;
    }
    persons_[enrolment.identity] = person;
  }
  HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
  if (resident->state != PlaceState::kFree) {
    return absl::DataLossError("a position to fill is not free");
  }
  BlockInfo& info = infos_[position / head_.block_places];
  const bool first = info.live + info.leaving == 0;
  info.error.least_clean =
      first ? resident->clean : std::min(info.error.least_clean, resident->clean);
  resident->state = PlaceState::kLive;
  resident->person = person;
  resident->identity = enrolment.identity;
  resident->sample = enrolment.sample;
  resident->parts = enrolment.parts;
  resident->contribution = contribution;
  resident->entry = contribution == Digest{} ? 0 : head_.next_entry;
  resident->generation = head_.generation + 1;
  resident->enrolled = now_;
  resident->expires = enrolment.expires;
  resident->metadata = enrolment.metadata;
  ++info.live;
  ++head_.live;
  changed_.insert(position / head_.block_places);
  HEFT_RETURN_IF_ERROR(Name(enrolment.identity, [&](NamedPlaces* named) {
    named->places.insert(std::ranges::lower_bound(named->places, position), position);
  }));
  ByteWriter place;
  place.U64(position);
  if (enrolment.sample != SampleDigest{}) {
    HEFT_RETURN_IF_ERROR(
        writer_->Put(Table::kSamples, DigestKey(number_, enrolment.sample), place.bytes()));
  }
  for (const SampleDigest& part : enrolment.parts) {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kSamples, DigestKey(number_, part), place.bytes()));
  }
  return absl::OkStatus();
}

absl::Status GalleryChange::Vacate(uint64_t position, PlaceState state) {
  HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
  BlockInfo& info = infos_[position / head_.block_places];
  if (resident->state == PlaceState::kLive) {
    const Resident gone = *resident;
    persons_.erase(gone.identity);  // a later person of this name is another one
    --info.live;
    --head_.live;
    HEFT_RETURN_IF_ERROR(
        Name(gone.identity, [&](NamedPlaces* named) { std::erase(named->places, position); }));
    std::vector<SampleDigest> samples = gone.parts;
    samples.push_back(gone.sample);
    for (const SampleDigest& sample : samples) {
      if (sample == SampleDigest{}) continue;
      HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kSamples, DigestKey(number_, sample)));
    }
  } else if (resident->state == PlaceState::kLeaving) {
    --info.leaving;
    --head_.leaving;
  }
  const Resident was = std::move(*resident);
  *resident = Resident{};
  resident->clean = was.clean;
  resident->state = state;
  if (state == PlaceState::kLeaving) {
    resident->person = was.person;
    resident->left = now_;
    resident->name = HashName(head_.id, was.identity);
    ++info.leaving;
    ++head_.leaving;
  } else {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, position), {}));
  }
  changed_.insert(position / head_.block_places);
  Touch();
  return absl::OkStatus();
}

}  // namespace heft
