// SPDX-License-Identifier: Apache-2.0
// Gallery::Impl: who stands where.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gallery/gallery_impl.h"

namespace heft {

absl::StatusOr<Run> ReadRun(const StoreReader& reader, uint32_t gallery, uint64_t run) {
  HEFT_ASSIGN_OR_RETURN(const auto bytes, reader.Get(Table::kRoster, RunKey(gallery, run)));
  if (!bytes) return Run{};
  return ParseRun(*bytes, absl::StrCat("run ", run, " of the roster"));
}

absl::StatusOr<std::shared_ptr<const Roster>> Gallery::Impl::ReadRoster() const {
  if (auto known = cache_->FindRoster(root())) return known;
  auto roster = std::make_shared<Roster>();
  const uint64_t per_block = head_.block_places / kRunPlaces;
  for (uint64_t first = 0; first < head_.places; first += kRunPlaces) {
    const uint64_t run = first / kRunPlaces;
    HEFT_ASSIGN_OR_RETURN(const auto digests,
                          reader_->Get(Table::kBlockInfo, RunDigestsKey(number_, run / per_block)));
    const size_t at = run % per_block * sizeof(Digest);
    if (!digests || digests->size() != per_block * sizeof(Digest)) {
      return absl::DataLossError(absl::StrCat(What(), ": digests of its roster are missing"));
    }
    Digest digest;
    std::copy_n(digests->data() + at, digest.size(), digest.begin());
    auto names = cache_->FindRun(run, digest);
    if (names == nullptr) {
      HEFT_ASSIGN_OR_RETURN(const Run residents, ReadRun(*reader_, number_, run));
      auto fresh = std::make_shared<RunNames>();
      for (size_t i = 0; i < kRunPlaces; ++i) {
        if (residents[i].state != PlaceState::kLive) continue;
        fresh->names[i] = residents[i].identity;
        if (residents[i].expires == kNoTime) continue;
        fresh->expires.resize(kRunPlaces, kNoTime);
        fresh->expires[i] = residents[i].expires;
      }
      names = std::move(fresh);
      cache_->SetRun(run, digest, names);
    }
    roster->runs.push_back(std::move(names));
  }
  cache_->SetRoster(root(), roster);
  return roster;
}

std::vector<std::string> Gallery::Impl::identities() const {
  std::vector<std::string> names;
  const auto roster = ReadRoster();
  if (!roster.ok()) return names;
  names.reserve(places());
  for (uint64_t i = 0; i < places(); ++i) names.push_back((*roster)->Name(i, 0));
  return names;
}

absl::StatusOr<std::optional<Restriction>> Gallery::Impl::Restricted(
    uint64_t time, std::span<const Condition> where) const {
  std::optional<Restriction> out;
  HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const Roster> roster, ReadRoster());
  PlaceSet answering = PlaceSet::None(places());
  for (uint64_t first = 0; first < places(); first += kRunPlaces) {
    Run run;
    if (!where.empty()) {
      HEFT_ASSIGN_OR_RETURN(run, ReadRun(*reader_, number_, first / kRunPlaces));
    }
    for (uint64_t i = first; i < std::min<uint64_t>(first + kRunPlaces, places()); ++i) {
      if (roster->Name(i, time).empty()) continue;
      if (where.empty() || Fits(run[i - first].metadata, where)) answering.Add(i);
    }
  }
  if (answering.count() == places()) return out;
  out.emplace(Restriction{std::move(answering), time, {where.begin(), where.end()}});
  return out;
}

absl::StatusOr<NamedPlaces> Gallery::Impl::Find(const std::string& identity) const {
  if (reader_ == nullptr) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kNames, NameKey(number_, head_.id, identity)));
  if (!bytes) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(NamedPlaces named, ParseNamed(*bytes, What()));
  if (!named.places.empty() && named.places.back() >= head_.places) {
    return absl::DataLossError(
        absl::StrCat(What(), ": a name stands at a place that is not there"));
  }
  return named;
}

absl::StatusOr<Resident> Gallery::Impl::At(uint64_t position) const {
  HEFT_ASSIGN_OR_RETURN(Run run, ReadRun(*reader_, number_, position / kRunPlaces));
  return std::move(run[position % kRunPlaces]);
}

absl::StatusOr<std::optional<uint64_t>> Gallery::Impl::FindSample(
    const SampleDigest& sample) const {
  std::optional<uint64_t> place;
  if (reader_ == nullptr || sample == SampleDigest{}) return place;
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kSamples, DigestKey(number_, sample)));
  if (!bytes) return place;
  ByteReader reader(*bytes, What());
  place = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return place;
}

}  // namespace heft
