// SPDX-License-Identifier: Apache-2.0
#include "matcher/stand_in.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/keyed_hash.h"
#include "fusion/stand_in.h"
#include "matcher/folder_key.h"

namespace heft {
namespace {

constexpr std::string_view kStandInKind = "STND";

// JumpHash: a bucket of `buckets` >= 1, which stays for nearly all keys when buckets are added
// (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
size_t JumpHash(uint64_t key, size_t buckets) {
  int64_t bucket = 0;
  for (int64_t next = 0; next < static_cast<int64_t>(buckets);) {
    bucket = next;
    key = key * 2862933555777941757u + 1;
    next = static_cast<int64_t>(static_cast<double>(bucket + 1) *
                                (0x1p31 / static_cast<double>((key >> 33) + 1)));
  }
  return static_cast<size_t>(bucket);
}

// BorrowedName: the identity at `position`, or at the first one behind it that has a template at
// `time`. Reads a few runs of the roster; where all of these are empty, the whole of it, which is
// kept.
absl::StatusOr<std::string> BorrowedName(const Gallery::Impl& gallery, uint64_t position,
                                         uint64_t time) {
  constexpr uint64_t kFew = 8;
  const uint64_t first = position / kRunPlaces;
  const uint64_t runs = std::min(kFew, (gallery.places() - 1) / kRunPlaces + 1 - first);
  for (uint64_t i = 0; i < runs; ++i) {
    HEFT_ASSIGN_OR_RETURN(Run run, ReadRun(gallery.reader(), gallery.number(), first + i));
    for (size_t at = i == 0 ? position % kRunPlaces : 0; at < kRunPlaces; ++at) {
      if (run[at].state != PlaceState::kLive) continue;
      if (run[at].expires == kNoTime || run[at].expires > time) return std::move(run[at].identity);
    }
  }
  HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const Roster> roster, gallery.ReadRoster());
  for (uint64_t i = 0; i < gallery.places(); ++i) {
    const std::string& name = roster->Name((position + i) % gallery.places(), time);
    if (!name.empty()) return name;
  }
  return absl::FailedPreconditionError(
      "all templates of this gallery have expired, or none are enrolled: enrol a person first");
}

}  // namespace

absl::StatusOr<Seed> StandInKey(const std::string& directory) {
  return FolderKey(directory + "/stand-in.key", kStandInKind, "a gallery's first verification");
}

absl::StatusOr<Claim> FindClaim(const Instance& instance, const Gallery::Impl& gallery,
                                const Seed& key, const std::string& identity, uint64_t time) {
  const size_t slots = instance.params().slots();
  // Of this gallery alone: galleries of a folder share the key.
  const std::string whom = HexString(gallery.id()) + identity;
  const auto drawn = [&](std::string_view purpose) {
    uint64_t place = 0;
    std::array<uint8_t, sizeof(place)> raw{};
    KeyedHash(raw, key, purpose, whom);
    std::memcpy(&place, raw.data(), sizeof(place));
    return JumpHash(place, gallery.places());
  };
  const auto where = [&](const NamedPlaces& named, Claim* claim) -> absl::Status {
    for (const uint64_t i : named.places) {
      HEFT_ASSIGN_OR_RETURN(const Resident resident, gallery.At(i));
      if (resident.expires != kNoTime && resident.expires <= time) continue;
      const Position at =
          PositionOf(static_cast<uint32_t>(i % (2 * slots)), static_cast<uint32_t>(slots));
      claim->places[{i / (2 * slots), at.lane}].push_back(at.slot);
    }
    return absl::OkStatus();
  };
  Claim own, borrowed;
  HEFT_ASSIGN_OR_RETURN(const NamedPlaces own_places, gallery.Find(identity));
  HEFT_RETURN_IF_ERROR(where(own_places, &own));
  const auto borrow = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const std::string other, BorrowedName(gallery, drawn("place"), time));
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces places, gallery.Find(other));
    return where(places, &borrowed);
  };
  // Damage refuses a known identity by its own records, and an unknown one by those that it
  // borrows: neither more often than the other.
  const absl::Status found = borrow();
  if (own.places.empty()) HEFT_RETURN_IF_ERROR(found);
  // As long as a known identity takes, which has a record of its own.
  if (own_places.places.empty()) gallery.At(drawn("record")).status().IgnoreError();
  // Made for known identities too, so that it takes no time of unknown ones alone.
  std::vector<uint8_t> signs((instance.plan.gamma + 7) / 8);
  KeyedHash(signs, key, "template", whom);
  Claim& claim = own.places.empty() ? borrowed : own;
  claim.known = !own.places.empty();
  claim.stand_in = StandInBlock(instance, signs);
  return std::move(claim);
}

}  // namespace heft
