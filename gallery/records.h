// SPDX-License-Identifier: Apache-2.0
// What a gallery keeps in its store (docs/gallery.md, "The tables"): keys and values, as bytes and
// back. Numbers in keys are big-endian, so that their order is that of the numbers.
#ifndef HEFT_GALLERY_RECORDS_H_
#define HEFT_GALLERY_RECORDS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/csprng.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/renewal.h"
#include "gallery/wear.h"
#include "heft/metadata.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

// What all templates of a gallery have in common.
struct GalleryBinding {
  std::array<uint8_t, 16> params_id{};
  ckks::KeyId key_id{};
  ModelId model_id{};
  uint32_t gamma = 0;
  bool operator==(const GalleryBinding&) const = default;
};
void WriteBinding(ByteWriter& writer, const GalleryBinding& binding);
GalleryBinding ReadBinding(ByteReader& reader);

// SampleDigest: of the encrypted samples that a template was made of, by which they are recognised
// when they are sent again: the first 16 bytes of a BLAKE2b-256. Zeros: unknown, of galleries of
// 0.1.
using SampleDigest = std::array<uint8_t, 16>;
SampleDigest Shortened(const Digest& digest);

// PersonId: 16 random bytes, drawn when an identity is first enrolled.
using PersonId = std::array<uint8_t, 16>;

// HashedName: of gallery and name: what may be left of it in a page tells nothing.
using HashedName = std::array<uint8_t, 16>;
HashedName HashName(const GalleryId& id, std::string_view identity);

// kNoTime: of what does not end.
inline constexpr uint64_t kNoTime = 0;
// kWaitingPlace: in the place of a position, of what waits in quarantine.
inline constexpr uint64_t kWaitingPlace = ~uint64_t{0};
// kUnknownPlace: of what stands nobody knows where.
inline constexpr uint64_t kUnknownPlace = ~uint64_t{1};
// kNoPlace: none.
inline constexpr uint64_t kNoPlace = ~uint64_t{0};

// Retention: for how long, and how many bytes of, fused templates stay after they have joined their
// blocks: until then they can be taken back exactly.
struct Retention {
  uint64_t seconds = 3600;
  uint64_t bytes = uint64_t{1} << 30;
};

// GalleryHead: of a gallery what all of it has in common.
struct GalleryHead {
  GalleryBinding binding;
  GalleryId id{};
  uint64_t generation = 0;
  Digest root{};              // of that generation (gallery/merkle.h)
  uint64_t places = 0;        // positions that are or were filled: 0 ... places - 1
  uint64_t live = 0;          // that answer
  uint64_t leaving = 0;       // that answer no more, and whose ciphertexts are still there
  uint32_t block_places = 0;  // positions of a block; 0 before the first enrolment
  uint32_t epoch = 0;         // of the blocks: renewed with their key
  uint64_t next_entry = 1;    // of the journal
  uint64_t folded = 0;        // entries up to this one are in the blocks' checkpoints
  uint64_t retired = 0;       // entries up to this one are gone
  uint64_t entry_bytes = 0;   // of all entries that there are
  uint64_t started = 0;       // UnixTime
  uint64_t key_since = 0;     // of the first template under this key
  uint64_t verified = 0;      // of the last check of all blocks; 0: never
  bool intact = false;        // what it found
  Retention retention;
  std::vector<ckks::KeyId> revoked;  // oldest first
};
std::vector<uint8_t> SerializeHead(const GalleryHead& head);
absl::StatusOr<GalleryHead> ParseHead(ByteSpan bytes, std::string_view what);

// BlockInfo: of a block what is small.
struct BlockInfo {
  uint64_t generation = 0;  // that wrote its checkpoint
  Digest checkpoint{};      // BLAKE2b-256 of its residues; zeros: there is none yet
  Digest pending{};         // chain over the entries that are not in it yet; zeros: none
  Digest roster{};          // over who stands in it
  Digest leaf{};            // of all that (gallery/merkle.h)
  uint32_t live = 0, leaving = 0;
  BlockWear wear;  // gallery/wear.h
};
// Chained: BlockInfo::pending with one entry more.
Digest Chained(const Digest& chain, uint64_t position, const Digest& contribution);
std::vector<uint8_t> SerializeBlockInfo(const BlockInfo& info);
absl::StatusOr<BlockInfo> ParseBlockInfo(ByteSpan bytes, std::string_view what);

// Resident: who stands at a position.
enum class PlaceState : uint8_t { kFree = 0, kLive = 1, kLeaving = 2 };
struct Resident {
  PlaceState state = PlaceState::kFree;
  double clean = 0;  // of the position, whoever stands there (gallery/wear.h)
  PersonId person{};
  std::string identity;
  SampleDigest sample{};
  std::vector<SampleDigest> parts;  // of a mean: of each sample in it
  Digest contribution{};            // of the fused template; zeros: it came in bulk
  uint64_t entry = 0;               // of the journal; 0: there is none any more
  uint64_t generation = 0, enrolled = 0;
  uint64_t expires = kNoTime;
  Metadata metadata;
  // Of a place that somebody leaves: since when, and what he was called; 0 and zeros: unknown.
  uint64_t left = 0;
  HashedName name{};
};

// Run: kRunPlaces positions side by side, the unit of the roster.
inline constexpr uint32_t kRunPlaces = 64;
using Run = std::array<Resident, kRunPlaces>;
std::vector<uint8_t> SerializeRun(const Run& run);
absl::StatusOr<Run> ParseRun(ByteSpan bytes, std::string_view what);
// RunDigest: of SerializeRun's bytes.
Digest RunDigest(ByteSpan serialized);

// JournalEntry: a fused template that joins a block.
struct JournalEntry {
  uint64_t position = 0;
  uint64_t generation = 0, enrolled = 0;
  Digest contribution{};  // of `fused`
  ByteSpan fused;         // the ciphertext, as WriteCiphertext writes it; none: taken back
};
std::vector<uint8_t> SerializeEntry(const JournalEntry& entry);
// `fused` points into `bytes`.
absl::StatusOr<JournalEntry> ParseEntry(ByteSpan bytes, std::string_view what);

// FoldRecord: entries first ... last joined their blocks in one change; the key is the last.
struct FoldRecord {
  uint64_t first = 0;
  uint64_t time = 0;
};
std::vector<uint8_t> SerializeFold(const FoldRecord& fold);
absl::StatusOr<FoldRecord> ParseFold(ByteSpan bytes, std::string_view what);

// ExchangeRecord: a renewal that the key owner was asked for. Until he has answered, or somebody
// else is removed from its blocks, nothing joins them.
struct ExchangeRecord {
  struct Source {
    uint64_t block = 0;
    Digest checkpoint{};
  };
  struct Target {
    uint64_t block = 0;
    std::vector<Move> moves;
  };
  Seed seed{};  // of the pads
  uint64_t asked = 0;
  std::vector<Source> sources;
  std::vector<Target> targets;
};
std::vector<uint8_t> SerializeExchange(const ExchangeRecord& exchange);
absl::StatusOr<ExchangeRecord> ParseExchange(ByteSpan bytes, std::string_view what);

// ErasedItem: of a person what was erased at once.
struct ErasedItem {
  PersonId person{};
  uint32_t templates = 0;
  uint64_t removed = 0;  // when they answered no more, if not when all of the receipt did
  HashedName name{};     // not written
};

// ReceiptRecord: who was removed by one change. `erased` is 0 until nothing of them is left in the
// store's files; then `receipt` is the signed receipt (kind RCPT).
struct ReceiptRecord {
  uint64_t generation = 0;  // in which they were gone
  uint64_t removed = 0, erased = 0;
  std::vector<ErasedItem> items;
  std::vector<uint8_t> receipt;
};
// Version 2 has the times of items, version 1 none.
std::vector<uint8_t> SerializeReceipt(const ReceiptRecord& receipt);
absl::StatusOr<ReceiptRecord> ParseReceipt(ByteSpan bytes, std::string_view what);
// What receipts (gallery/receipt.h) and their records have in common: times, then items.
bool HaveTimes(std::span<const ErasedItem> items);
void WriteErased(ByteWriter& writer, uint64_t removed, uint64_t erased,
                 std::span<const ErasedItem> items);
void ReadErased(ByteReader& reader, bool times, uint64_t* removed, uint64_t* erased,
                std::vector<ErasedItem>* items);

// WaitingRecord: of an enrolment in quarantine what a change looks at, instead of all of it.
struct WaitingRecord {
  std::vector<std::string> identities;  // one a template
  std::vector<SampleDigest> samples;    // those in means too
};
std::vector<uint8_t> SerializeWaiting(const WaitingRecord& waiting);
// Of the version before, without a version, too.
absl::StatusOr<WaitingRecord> ParseWaiting(ByteSpan bytes, std::string_view what);

// A block's value: kBlockHeader bytes, then the residues.
inline constexpr size_t kBlockHeader = 112;
struct BlockHeader {
  uint64_t block = 0, generation = 0;
  uint32_t gamma = 0;
  uint64_t checksum = 0;  // FastChecksum of the residues (base/checksum.h)
  Digest hash{};          // BLAKE2b-256 of them
};
std::vector<uint8_t> SerializeBlock(const BlockHeader& header, std::span<const uint32_t> residues);
// The residues are in `bytes`, aligned if these are. kDataLoss for another length than `words`.
absl::StatusOr<BlockHeader> ParseBlock(ByteSpan bytes, size_t words, std::string_view what,
                                       std::span<const uint32_t>* residues);
Digest ResiduesHash(std::span<const uint32_t> residues);

// NamedPlaces: where an identity stands, and how many templates of it wait.
struct NamedPlaces {
  uint32_t waiting = 0;
  std::vector<uint64_t> places;  // ascending
};
std::vector<uint8_t> SerializeNamed(const NamedPlaces& named);
absl::StatusOr<NamedPlaces> ParseNamed(ByteSpan bytes, std::string_view what);

// Keys. A gallery's start with its number.
using StoreKey = std::vector<uint8_t>;
StoreKey HeadKey(uint32_t gallery);
StoreKey BlockKey(uint32_t gallery, uint32_t epoch, uint64_t block);
StoreKey InfoKey(uint32_t gallery, uint64_t block);
StoreKey RunDigestsKey(uint32_t gallery, uint64_t block);
StoreKey RunKey(uint32_t gallery, uint64_t run);
StoreKey NumberKey(uint32_t gallery, uint64_t number);  // kJournal, kFree, kReceipts
// DueReceiptKey: of a receipt that nobody has signed yet: behind all that were, where it is found
// without looking at them.
inline constexpr uint64_t kDueReceipt = uint64_t{1} << 63;
inline StoreKey DueReceiptKey(uint32_t gallery, uint64_t generation) {
  return NumberKey(gallery, generation | kDueReceipt);
}
StoreKey DigestKey(uint32_t gallery, ByteSpan digest);  // kSamples, kQuarantine and the like
StoreKey NameKey(uint32_t gallery, const GalleryId& id, std::string_view identity);
// The number at the end of a key.
uint64_t NumberOf(ByteSpan key);
// Whether a key is one of this gallery's.
bool OfGallery(uint32_t gallery, ByteSpan key);

Digest ReadDigest(ByteReader& reader);

}  // namespace heft

#endif  // HEFT_GALLERY_RECORDS_H_
