// SPDX-License-Identifier: Apache-2.0
// The keys and values of a gallery's tables, to and from bytes (docs/formats.md, "The values in a
// store"). Numbers in keys are big-endian, so that byte order is numeric order.
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
#include "gallery/added_error.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

// Facts common to all templates of a gallery.
struct GalleryBinding {
  std::array<uint8_t, 16> params_id{};
  ckks::KeyId key_id{};
  ModelId model_id{};
  uint32_t gamma = 0;
  bool operator==(const GalleryBinding&) const = default;
};
void WriteBinding(ByteWriter& writer, const GalleryBinding& binding);
GalleryBinding ReadBinding(ByteReader& reader);

// SampleDigest: identifies the encrypted samples of a template, to recognise them when they are
// sent again. The first 16 bytes of a SHA-256. Zeros: unknown.
using SampleDigest = std::array<uint8_t, 16>;
SampleDigest Shortened(const Digest& digest);

// PersonId: 16 random bytes, drawn at the first enrolment of an identity.
using PersonId = std::array<uint8_t, 16>;

// HashedName: a hash of gallery and name. Remains of it in a page of a file reveal nothing.
using HashedName = std::array<uint8_t, 16>;
HashedName HashName(const GalleryId& id, std::string_view identity);

// kNoTime: no end.
inline constexpr uint64_t kNoTime = 0;
// kPendingPlace: instead of a position, for a pending enrolment.
inline constexpr uint64_t kPendingPlace = ~uint64_t{0};
// kNoPlace: no position.
inline constexpr uint64_t kNoPlace = ~uint64_t{0};

// Retention: for how long, and how many bytes of, fused templates are kept after they joined their
// blocks. While it is kept, a template can be taken back exactly.
struct Retention {
  uint64_t seconds = 3600;
  uint64_t bytes = uint64_t{1} << 30;
};

// GalleryHead: facts common to all of a gallery.
struct GalleryHead {
  GalleryBinding binding;
  GalleryId id{};
  uint64_t generation = 0;
  Digest root{};         // of that generation (gallery/merkle.h)
  uint64_t places = 0;   // positions that are or were filled: 0 ... places - 1
  uint64_t live = 0;     // templates that are matched
  uint64_t leaving = 0;  // templates that are no longer matched, but whose ciphertexts still exist
  uint32_t block_places = 0;  // positions of a block; 0 before the first enrolment
  uint32_t epoch = 0;         // of the blocks: increases with each new key
  uint64_t next_entry = 1;    // of the journal
  uint64_t folded = 0;        // entries up to this one are in the blocks' checkpoints
  uint64_t retired = 0;       // entries up to this one are gone
  uint64_t entry_bytes = 0;   // of all existing entries
  uint64_t started = 0;       // UnixTime
  uint64_t key_since = 0;     // of the first template under this key
  uint64_t verified = 0;      // of the last check of all blocks; 0: never
  bool intact = false;        // what it found
  Retention retention;
  std::vector<ckks::KeyId> revoked;  // oldest first
};
std::vector<uint8_t> SerializeHead(const GalleryHead& head);
absl::StatusOr<GalleryHead> ParseHead(ByteSpan bytes, std::string_view what);

// BlockInfo: the small facts about a block.
struct BlockInfo {
  uint64_t generation = 0;  // in which its checkpoint was written
  Digest checkpoint{};      // SHA-256 of its residues; zeros: there is none yet
  Digest pending{};         // chain over the entries that are not in it yet; zeros: none
  Digest roster{};          // over the templates in it
  Digest leaf{};            // of all that (gallery/merkle.h)
  uint32_t live = 0, leaving = 0;
  BlockError error;  // gallery/added_error.h
};
// Chained: BlockInfo::pending after one more entry.
Digest Chained(const Digest& chain, uint64_t position, const Digest& contribution);
std::vector<uint8_t> SerializeBlockInfo(const BlockInfo& info);
absl::StatusOr<BlockInfo> ParseBlockInfo(ByteSpan bytes, std::string_view what);

// Resident: the template at a position.
enum class PlaceState : uint8_t { kFree = 0, kLive = 1, kLeaving = 2 };
struct Resident {
  PlaceState state = PlaceState::kFree;
  double clean = 0;  // of the position, with or without a template (gallery/added_error.h)
  PersonId person{};
  std::string identity;
  SampleDigest sample{};
  std::vector<SampleDigest> parts;  // of a mean: of each sample in it
  Digest contribution{};            // of the fused template; zeros: it came in bulk
  uint64_t entry = 0;               // of the journal; 0: it has no entry any more
  uint64_t generation = 0, enrolled = 0;
  uint64_t expires = kNoTime;
  Metadata metadata;
  // Of a template that is leaving: since when, and its hashed name; 0 and zeros: unknown.
  uint64_t left = 0;
  HashedName name{};
};

// Run: kRunPlaces consecutive positions, the unit of the roster.
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
  ByteSpan fused;         // the ciphertext, as WriteCiphertext writes it; empty: taken back
};
// kLeftContribution: of an empty entry whose ciphertext is still in its block.
inline constexpr Digest kLeftContribution = {1};
std::vector<uint8_t> SerializeEntry(const JournalEntry& entry);
// `fused` points into `bytes`.
absl::StatusOr<JournalEntry> ParseEntry(ByteSpan bytes, std::string_view what);

// FoldRecord: entries first ... last joined their blocks in one change. The key is the last one.
struct FoldRecord {
  uint64_t first = 0;
  uint64_t time = 0;
};
std::vector<uint8_t> SerializeFold(const FoldRecord& fold);
absl::StatusOr<FoldRecord> ParseFold(ByteSpan bytes, std::string_view what);

// ExchangeRecord: a renewal that the key owner was asked for. Nothing joins its blocks until the
// key owner has answered or another template is removed from them.
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

// ErasedItem: the templates of one person that were erased together.
struct ErasedItem {
  PersonId person{};
  uint32_t templates = 0;
  uint64_t removed = 0;  // when they left the matching, if not at the receipt's time
  HashedName name{};     // not written
};

// ReceiptRecord: the people removed by one change. `erased` is 0 until nothing of them is left in
// the store's files; then `receipt` is the signed receipt (kind RCPT).
struct ReceiptRecord {
  uint64_t generation = 0;  // the first without them
  uint64_t removed = 0, erased = 0;
  std::vector<ErasedItem> items;
  std::vector<uint8_t> receipt;
};
// Version 2 has the times of items, version 1 does not.
std::vector<uint8_t> SerializeReceipt(const ReceiptRecord& receipt);
absl::StatusOr<ReceiptRecord> ParseReceipt(ByteSpan bytes, std::string_view what);
// The common part of receipts (gallery/receipt.h) and their records: times, then items.
bool HaveTimes(std::span<const ErasedItem> items);
void WriteErased(ByteWriter& writer, uint64_t removed, uint64_t erased,
                 std::span<const ErasedItem> items);
void ReadErased(ByteReader& reader, bool times, uint64_t* removed, uint64_t* erased,
                std::vector<ErasedItem>* items);

// PendingRecord: the part of a pending enrolment that a change needs.
struct PendingRecord {
  std::vector<std::string> identities;  // one a template
  std::vector<SampleDigest> samples;    // including those in means
  SignerKey client{};                   // that sent it; zeros: not signed
  uint64_t bytes = 0;                   // of the pending enrolment
};
std::vector<uint8_t> SerializePending(const PendingRecord& pending);
absl::StatusOr<PendingRecord> ParsePending(ByteSpan bytes, std::string_view what);

// A block's value: kBlockHeader bytes, then the residues.
inline constexpr size_t kBlockHeader = 112;
struct BlockHeader {
  uint64_t block = 0, generation = 0;
  uint32_t gamma = 0;
  uint64_t checksum = 0;  // FastChecksum of the residues (base/checksum.h)
  Digest hash{};          // SHA-256 of them
};
std::vector<uint8_t> SerializeBlock(const BlockHeader& header, std::span<const uint32_t> residues);
// The residues are in `bytes` and have its alignment. kDataLoss unless there are `words`.
absl::StatusOr<BlockHeader> ParseBlock(ByteSpan bytes, size_t words, std::string_view what,
                                       std::span<const uint32_t>* residues);
Digest ResiduesHash(std::span<const uint32_t> residues);

// NamedPlaces: the positions of an identity, and the number of its pending templates.
struct NamedPlaces {
  uint32_t pending = 0;
  std::vector<uint64_t> places;  // ascending
};
std::vector<uint8_t> SerializeNamed(const NamedPlaces& named);
absl::StatusOr<NamedPlaces> ParseNamed(ByteSpan bytes, std::string_view what);

// Keys. Those of a gallery start with its number.
using StoreKey = std::vector<uint8_t>;
StoreKey HeadKey(uint32_t gallery);
StoreKey BlockKey(uint32_t gallery, uint32_t epoch, uint64_t block);
StoreKey InfoKey(uint32_t gallery, uint64_t block);
StoreKey RunDigestsKey(uint32_t gallery, uint64_t block);
StoreKey RunKey(uint32_t gallery, uint64_t run);
StoreKey NumberKey(uint32_t gallery, uint64_t number);  // kJournal, kFree, kReceipts
// DueReceiptKey: of a receipt that is not signed yet. It sorts behind all signed receipts, so it is
// found without reading these.
inline constexpr uint64_t kDueReceipt = uint64_t{1} << 63;
inline StoreKey DueReceiptKey(uint32_t gallery, uint64_t generation) {
  return NumberKey(gallery, generation | kDueReceipt);
}
StoreKey DigestKey(uint32_t gallery, ByteSpan digest);  // kSamples, kPendingFile and the like
StoreKey NameKey(uint32_t gallery, const GalleryId& id, std::string_view identity);
// The number at the end of a key.
uint64_t NumberOf(ByteSpan key);
// Whether a key is one of this gallery's.
bool OfGallery(uint32_t gallery, ByteSpan key);

Digest ReadDigest(ByteReader& reader);

}  // namespace heft

#endif  // HEFT_GALLERY_RECORDS_H_
