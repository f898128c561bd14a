// SPDX-License-Identifier: Apache-2.0
// Gallery::Impl: the roster.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gallery/gallery_impl.h"

namespace heft {

absl::StatusOr<Run> ReadRun(const StoreReader& reader, uint32_t gallery, uint64_t run) {
  absl::StatusOr<Run> out = Run{};
  const auto parse = [&](ByteSpan bytes) {
    out = ParseRun(bytes, absl::StrCat("run ", run, " of the roster"));
  };
  HEFT_RETURN_IF_ERROR(reader.Look(Table::kRoster, RunKey(gallery, run), parse).status());
  return out;
}

absl::StatusOr<std::vector<uint8_t>> ReadRunDigests(const StoreReader& reader, uint32_t gallery,
                                                    size_t block, const GalleryHead& head) {
  const uint64_t runs = head.block_places / kRunPlaces;
  std::vector<uint8_t> digests;
  const auto known = reader.Get(Table::kBlockInfo, RunDigestsKey(gallery, block));
  if (!absl::IsDataLoss(known.status())) HEFT_RETURN_IF_ERROR(known.status());
  if (known.ok() && *known && (*known)->size() == runs * sizeof(Digest)) {
    digests.assign((*known)->begin(), (*known)->end());
    return digests;
  }
  for (uint64_t run = block * runs; run < (block + 1) * runs; ++run) {
    HEFT_ASSIGN_OR_RETURN(const auto bytes, reader.Get(Table::kRoster, RunKey(gallery, run)));
    const Digest digest = bytes ? RunDigest(*bytes) : Digest{};
    digests.insert(digests.end(), digest.begin(), digest.end());
  }
  return digests;
}

namespace {

std::shared_ptr<const RunNames> NamesOf(const Run& residents) {
  auto names = std::make_shared<RunNames>();
  for (size_t i = 0; i < kRunPlaces; ++i) {
    if (residents[i].state != PlaceState::kLive) continue;
    names->names[i] = residents[i].identity;
    names->named |= uint64_t{1} << i;
    if (residents[i].expires == kNoTime) continue;
    names->expires.resize(kRunPlaces, kNoTime);
    names->expires[i] = residents[i].expires;
  }
  return names;
}

}  // namespace

// ReadNames: reads the runs that have changed; reuses the others.
absl::StatusOr<std::shared_ptr<const BlockNames>> Gallery::Impl::ReadNames(size_t block) const {
  const uint64_t per_block = head_.block_places / kRunPlaces;
  const uint64_t all = (head_.places + kRunPlaces - 1) / kRunPlaces;
  const size_t runs = std::min(per_block, all - block * per_block);
  bool same = false;
  const auto before = cache_->Names(block, infos_[block].roster, runs, &same);
  if (same) return before;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> digests,
                        ReadRunDigests(*reader_, number_, block, head_));
  auto names = std::make_shared<BlockNames>();
  for (size_t i = 0; i < runs; ++i) {
    Digest& digest = names->digests.emplace_back();
    std::copy_n(digests.data() + i * sizeof(Digest), digest.size(), digest.begin());
    if (before != nullptr && i < before->runs.size() && before->digests[i] == digest) {
      names->runs.push_back(before->runs[i]);
      continue;
    }
    HEFT_ASSIGN_OR_RETURN(const Run residents, ReadRun(*reader_, number_, block * per_block + i));
    names->runs.push_back(NamesOf(residents));
  }
  cache_->SetNames(block, infos_[block].roster, names);
  return names;
}

absl::StatusOr<std::shared_ptr<const Roster>> Gallery::Impl::ReadRoster() const {
  if (auto known = cache_->FindRoster(root())) return known;
  auto roster = std::make_shared<Roster>();
  for (size_t block = 0; block < infos_.size(); ++block) {
    HEFT_ASSIGN_OR_RETURN(const auto names, ReadNames(block));
    roster->runs.insert(roster->runs.end(), names->runs.begin(), names->runs.end());
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
    uint64_t fits = roster->runs[first / kRunPlaces]->Answering(time);
    if (!where.empty() && fits != 0) {
      HEFT_ASSIGN_OR_RETURN(const Run run, ReadRun(*reader_, number_, first / kRunPlaces));
      for (size_t i = 0; i < kRunPlaces; ++i) {
        if (!Fits(run[i].metadata, where)) fits &= ~(uint64_t{1} << i);
      }
    }
    answering.AddRun(first, fits);
  }
  if (answering.count() == places()) return out;
  out.emplace(Restriction{std::move(answering), time, {where.begin(), where.end()}});
  return out;
}

namespace {

// Where the index of names is damaged. Reads the whole roster.
absl::StatusOr<NamedPlaces> FindNamed(const Gallery::Impl& gallery, const std::string& identity) {
  NamedPlaces named;
  for (uint64_t first = 0; first < gallery.places(); first += kRunPlaces) {
    HEFT_ASSIGN_OR_RETURN(const Run run,
                          ReadRun(gallery.reader(), gallery.number(), first / kRunPlaces));
    for (size_t i = 0; i < kRunPlaces; ++i) {
      if (run[i].state != PlaceState::kLive || run[i].identity != identity) continue;
      named.places.push_back(first + i);
    }
  }
  HEFT_ASSIGN_OR_RETURN(const auto pending, gallery.PendingEnrolments());
  for (const auto& entry : pending) {
    named.pending += static_cast<uint32_t>(std::ranges::count(entry.record.identities, identity));
  }
  return named;
}

}  // namespace

absl::StatusOr<NamedPlaces> Gallery::Impl::Find(const std::string& identity) const {
  if (reader_ == nullptr) return NamedPlaces{};
  const auto bytes = reader_->Get(Table::kNames, NameKey(number_, head_.id, identity));
  if (absl::IsDataLoss(bytes.status())) return FindNamed(*this, identity);
  HEFT_RETURN_IF_ERROR(bytes.status());
  if (!*bytes) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(NamedPlaces named, ParseNamed(**bytes, What()));
  if (!named.places.empty() && named.places.back() >= head_.places) {
    return OfStore(absl::DataLossError(
        absl::StrCat(What(), ": a name refers to a position that does not exist")));
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
