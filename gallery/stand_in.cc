// SPDX-License-Identifier: Apache-2.0
#include "gallery/stand_in.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/keyed_hash.h"
#include "fusion/stand_in.h"

namespace heft {
namespace {

constexpr std::string_view kKind = "STND";
constexpr uint32_t kVersion = 1;

absl::StatusOr<Seed> ReadKey(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, 1 << 10));
  if (bytes.empty()) return absl::NotFoundError("not made yet");
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kKind, kVersion, path));
  ByteReader reader(payload, path);
  Seed key{};
  const ByteSpan raw = reader.Raw(key.size());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  std::ranges::copy(raw, key.begin());
  return key;
}

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

}  // namespace

absl::StatusOr<Seed> StandInKey(const std::string& directory) {
  const std::string path = directory + "/stand-in.key";
  auto key = ReadKey(path);
  if (!absl::IsNotFound(key.status())) return key;
  // The file that is locked is empty until one of those who wait for it has written it.
  const absl::StatusOr<FileLock> lock = FileLock::Take(path, 0600);
  if (!lock.ok()) {
    return absl::UnavailableError(
        absl::StrCat(std::string(lock.status().message()),
                     ": a gallery's first verification writes this key, so verify once as the "
                     "user who owns the gallery's folder"));
  }
  key = ReadKey(path);
  if (!absl::IsNotFound(key.status())) return key;
  Seed fresh;
  Csprng().Fill(fresh);
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path, SealEnvelope(kKind, kVersion, fresh), 0600));
  return fresh;
}

Claim FindClaim(const Instance& instance, const Gallery::Impl& gallery, const Seed& key,
                const std::string& identity) {
  const size_t slots = instance.params().slots();
  uint64_t place = 0;
  std::array<uint8_t, sizeof(place)> raw{};
  KeyedHash(raw, key, "place", identity);
  std::memcpy(&place, raw.data(), sizeof(place));
  const std::vector<std::string>& enrolled = gallery.identities();
  const std::string& other = enrolled[JumpHash(place, enrolled.size())];

  Claim own, borrowed;
  for (size_t i = 0; i < enrolled.size(); ++i) {
    const bool is_own = enrolled[i] == identity, is_other = enrolled[i] == other;
    if (!is_own && !is_other) continue;
    const Position at =
        PositionOf(static_cast<uint32_t>(i % (2 * slots)), static_cast<uint32_t>(slots));
    const std::pair<size_t, uint32_t> where = {i / (2 * slots), at.lane};
    if (is_own) own.places[where].push_back(at.slot);
    if (is_other) borrowed.places[where].push_back(at.slot);
  }
  // Made for known identities too, so that it takes no time of unknown ones alone.
  std::vector<uint8_t> signs((instance.plan.gamma + 7) / 8);
  KeyedHash(signs, key, "template", identity);
  Claim& claim = own.places.empty() ? borrowed : own;
  claim.known = !own.places.empty();
  claim.stand_in = StandInBlock(instance, signs);
  return std::move(claim);
}

}  // namespace heft
