// SPDX-License-Identifier: Apache-2.0
#include "gallery/records.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/identity.h"
#include "ckks/serialization.h"
#include "gallery/metadata_format.h"

namespace heft {
namespace {

constexpr uint8_t kRecordVersion = 1;
constexpr uint64_t kMostRevoked = 1 << 16;
constexpr uint64_t kMostParts = 1 << 10;
constexpr uint64_t kMostPlaces = uint64_t{1} << 32;
constexpr std::string_view kBlockMagic = "HGBK";

StoreKey Prefix(uint32_t gallery) {
  StoreKey key;
  for (int shift = 24; shift >= 0; shift -= 8)
    key.push_back(static_cast<uint8_t>(gallery >> shift));
  return key;
}

void Append(StoreKey* key, uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8)
    key->push_back(static_cast<uint8_t>(number >> shift));
}

// At least a long value, which has pages of its own: of what stood in it nothing stays in a page
// that others share (gallery/store.h, Scrub).
constexpr size_t kLeastPadded = 4096;
std::vector<uint8_t> Padded(std::vector<uint8_t> bytes) {
  bytes.resize(std::max(bytes.size(), kLeastPadded));
  return bytes;
}

// Of a value of `size` bytes.
void ReadPadding(ByteReader& reader, size_t size) {
  const ByteSpan padding = reader.Raw(reader.remaining());
  if (std::ranges::any_of(padding, [](uint8_t byte) { return byte != 0; })) {
    reader.Fail("bytes that must be zero are not");
  }
  if (size < kLeastPadded || (size > kLeastPadded && !padding.empty())) {
    reader.Fail("of another length than what is in it");
  }
}

// A version byte starts every value.
ByteReader Versioned(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  if (reader.U8() != kRecordVersion) reader.Fail("of a later version of the format");
  return reader;
}

}  // namespace

Digest ReadDigest(ByteReader& reader) {
  Digest digest{};
  const ByteSpan raw = reader.Raw(digest.size());
  if (reader.ok()) std::ranges::copy(raw, digest.begin());
  return digest;
}

SampleDigest Shortened(const Digest& digest) {
  SampleDigest out;
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

void WriteBinding(ByteWriter& writer, const GalleryBinding& binding) {
  ckks::WriteId(writer, binding.params_id);
  ckks::WriteId(writer, binding.key_id);
  ckks::WriteId(writer, binding.model_id);
  writer.U32(binding.gamma);
}

GalleryBinding ReadBinding(ByteReader& reader) {
  GalleryBinding binding;
  binding.params_id = ckks::ReadId(reader);
  binding.key_id = ckks::ReadId(reader);
  binding.model_id = ckks::ReadId(reader);
  binding.gamma = reader.U32();
  return binding;
}

std::vector<uint8_t> SerializeHead(const GalleryHead& head) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  WriteBinding(writer, head.binding);
  ckks::WriteId(writer, head.id);
  writer.U64(head.generation);
  writer.Raw(head.root);
  writer.U64(head.places);
  writer.U64(head.live);
  writer.U64(head.leaving);
  writer.U32(head.block_places);
  writer.U32(head.epoch);
  writer.U64(head.next_entry);
  writer.U64(head.folded);
  writer.U64(head.retired);
  writer.U64(head.entry_bytes);
  writer.U64(head.started);
  writer.U64(head.key_since);
  writer.U64(head.verified);
  writer.U8(head.intact ? 1 : 0);
  writer.U64(head.retention.seconds);
  writer.U64(head.retention.bytes);
  writer.U64(head.revoked.size());
  for (const ckks::KeyId& key : head.revoked) ckks::WriteId(writer, key);
  return writer.Take();
}

absl::StatusOr<GalleryHead> ParseHead(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  GalleryHead head;
  head.binding = ReadBinding(reader);
  head.id = ckks::ReadId(reader);
  head.generation = reader.U64();
  head.root = ReadDigest(reader);
  head.places = reader.U64();
  head.live = reader.U64();
  head.leaving = reader.U64();
  head.block_places = reader.U32();
  head.epoch = reader.U32();
  head.next_entry = reader.U64();
  head.folded = reader.U64();
  head.retired = reader.U64();
  head.entry_bytes = reader.U64();
  head.started = reader.U64();
  head.key_since = reader.U64();
  head.verified = reader.U64();
  const uint8_t intact = reader.U8();
  if (intact > 1) reader.Fail("a flag that is neither 0 nor 1");
  head.intact = intact == 1;
  head.retention.seconds = reader.U64();
  head.retention.bytes = reader.U64();
  head.revoked.resize(reader.Count(sizeof(ckks::KeyId), kMostRevoked));
  for (ckks::KeyId& key : head.revoked) key = ckks::ReadId(reader);
  if (head.places > kMostPlaces || head.live > head.places ||
      head.leaving > head.places - head.live || head.folded >= head.next_entry ||
      head.retired > head.folded || head.block_places % kRunPlaces != 0 ||
      (head.places > 0 && head.block_places == 0)) {
    reader.Fail("numbers that contradict each other");
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return head;
}

std::vector<uint8_t> SerializeBlockInfo(const BlockInfo& info) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.U64(info.generation);
  for (const Digest* d : {&info.checkpoint, &info.pending, &info.roster, &info.leaf})
    writer.Raw(*d);
  writer.U32(info.live);
  writer.U32(info.leaving);
  writer.F64(info.wear.wear);
  writer.F64(info.wear.least_clean);
  return writer.Take();
}

absl::StatusOr<BlockInfo> ParseBlockInfo(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  BlockInfo info;
  info.generation = reader.U64();
  for (Digest* d : {&info.checkpoint, &info.pending, &info.roster, &info.leaf}) {
    *d = ReadDigest(reader);
  }
  info.live = reader.U32();
  info.leaving = reader.U32();
  info.wear.wear = reader.F64();
  info.wear.least_clean = reader.F64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return info;
}

std::vector<uint8_t> SerializeRun(const Run& run) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  for (const Resident& r : run) {
    writer.U8(static_cast<uint8_t>(r.state));
    writer.F64(r.clean);
    if (r.state == PlaceState::kFree) continue;
    ckks::WriteId(writer, r.person);
    if (r.state == PlaceState::kLeaving) continue;
    writer.String(r.identity);
    ckks::WriteId(writer, r.sample);
    writer.U64(r.parts.size());
    for (const SampleDigest& part : r.parts) ckks::WriteId(writer, part);
    writer.Raw(r.contribution);
    writer.U64(r.entry);
    writer.U64(r.generation);
    writer.U64(r.enrolled);
    writer.U64(r.expires);
    WriteMetadata(writer, r.metadata);
  }
  return Padded(writer.Take());
}

absl::StatusOr<Run> ParseRun(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  Run run;
  for (Resident& r : run) {
    const uint8_t state = reader.U8();
    if (state > static_cast<uint8_t>(PlaceState::kLeaving))
      reader.Fail("a place of no known state");
    if (!reader.ok()) break;
    r.state = static_cast<PlaceState>(state);
    r.clean = reader.F64();
    if (r.state == PlaceState::kFree) continue;
    r.person = ckks::ReadId(reader);
    if (r.state == PlaceState::kLeaving) continue;
    r.identity = reader.String(256);
    r.sample = ckks::ReadId(reader);
    r.parts.resize(reader.Count(sizeof(SampleDigest), kMostParts));
    for (SampleDigest& part : r.parts) part = ckks::ReadId(reader);
    r.contribution = ReadDigest(reader);
    r.entry = reader.U64();
    r.generation = reader.U64();
    r.enrolled = reader.U64();
    r.expires = reader.U64();
    r.metadata = ReadMetadata(reader);
    if (reader.ok() && !CheckIdentity(r.identity).ok()) reader.Fail("a name that nobody may have");
  }
  ReadPadding(reader, bytes.size());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return run;
}

Digest RunDigest(ByteSpan serialized) { return HashBytes(serialized); }

std::vector<uint8_t> SerializeEntry(const JournalEntry& entry) {
  ByteWriter writer;
  writer.Reserve(80 + entry.fused.size());
  writer.U8(kRecordVersion);
  writer.U64(entry.position);
  writer.U64(entry.generation);
  writer.U64(entry.enrolled);
  writer.Raw(entry.contribution);
  writer.Raw(entry.fused);
  return writer.Take();
}

absl::StatusOr<JournalEntry> ParseEntry(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  JournalEntry entry;
  entry.position = reader.U64();
  entry.generation = reader.U64();
  entry.enrolled = reader.U64();
  entry.contribution = ReadDigest(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  entry.fused = reader.Raw(reader.remaining());
  return entry;
}

std::vector<uint8_t> SerializeFold(const FoldRecord& fold) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.U64(fold.first);
  writer.U64(fold.time);
  return writer.Take();
}

absl::StatusOr<FoldRecord> ParseFold(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  FoldRecord fold;
  fold.first = reader.U64();
  fold.time = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return fold;
}

std::vector<uint8_t> SerializeExchange(const ExchangeRecord& exchange) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.Raw(exchange.seed);
  writer.U64(exchange.asked);
  writer.U64(exchange.sources.size());
  for (const ExchangeRecord::Source& source : exchange.sources) {
    writer.U64(source.block);
    writer.Raw(source.checkpoint);
  }
  writer.U64(exchange.targets.size());
  for (const ExchangeRecord::Target& target : exchange.targets) {
    writer.U64(target.block);
    writer.U64(target.moves.size());
    for (const Move& move : target.moves) {
      writer.U32(move.source);
      writer.U32(move.from);
      writer.U32(move.to);
    }
  }
  return Padded(writer.Take());
}

absl::StatusOr<ExchangeRecord> ParseExchange(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  ExchangeRecord exchange;
  exchange.seed = ckks::ReadSeed(reader);
  exchange.asked = reader.U64();
  exchange.sources.resize(reader.Count(8 + sizeof(Digest), kMostPlaces));
  for (ExchangeRecord::Source& source : exchange.sources) {
    source.block = reader.U64();
    source.checkpoint = ReadDigest(reader);
  }
  exchange.targets.resize(reader.Count(16, kMostPlaces));
  for (ExchangeRecord::Target& target : exchange.targets) {
    target.block = reader.U64();
    target.moves.resize(reader.Count(12, kMostPlaces));
    for (Move& move : target.moves) {
      move.source = reader.U32();
      move.from = reader.U32();
      move.to = reader.U32();
    }
  }
  ReadPadding(reader, bytes.size());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return exchange;
}

std::vector<uint8_t> SerializeReceipt(const ReceiptRecord& receipt) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.U64(receipt.generation);
  writer.U64(receipt.removed);
  writer.U64(receipt.erased);
  writer.U64(receipt.items.size());
  for (const ReceiptRecord::Item& item : receipt.items) {
    ckks::WriteId(writer, item.person);
    writer.U32(item.templates);
  }
  writer.U64(receipt.receipt.size());
  writer.Raw(receipt.receipt);
  return writer.Take();
}

absl::StatusOr<ReceiptRecord> ParseReceipt(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  ReceiptRecord receipt;
  receipt.generation = reader.U64();
  receipt.removed = reader.U64();
  receipt.erased = reader.U64();
  receipt.items.resize(reader.Count(20, kMostPlaces));
  for (ReceiptRecord::Item& item : receipt.items) {
    item.person = ckks::ReadId(reader);
    item.templates = reader.U32();
  }
  const ByteSpan raw = reader.Raw(reader.Count(1, kMostPlaces));
  receipt.receipt.assign(raw.begin(), raw.end());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return receipt;
}

Digest ResiduesHash(std::span<const uint32_t> residues) {
  return HashBytes({reinterpret_cast<const uint8_t*>(residues.data()), residues.size_bytes()});
}

std::vector<uint8_t> SerializeBlock(const BlockHeader& header, std::span<const uint32_t> residues) {
  ByteWriter writer;
  writer.Reserve(kBlockHeader + residues.size_bytes());
  writer.Raw(AsBytes(kBlockMagic));
  writer.U32(kRecordVersion);
  writer.U64(header.block);
  writer.U64(header.generation);
  writer.U32(header.gamma);
  writer.U32(0);
  writer.U64(header.checksum);
  writer.Raw(header.hash);
  const std::vector<uint8_t> padding(kBlockHeader - writer.bytes().size());
  writer.Raw(padding);
  writer.U32Array(residues);
  return writer.Take();
}

absl::StatusOr<BlockHeader> ParseBlock(ByteSpan bytes, size_t words, std::string_view what,
                                       std::span<const uint32_t>* residues) {
  ByteReader reader(bytes, what);
  BlockHeader header;
  if (!std::ranges::equal(reader.Raw(kBlockMagic.size()), AsBytes(kBlockMagic)) ||
      reader.U32() != kRecordVersion) {
    reader.Fail("not a block");
  }
  header.block = reader.U64();
  header.generation = reader.U64();
  header.gamma = reader.U32();
  if (reader.U32() != 0) reader.Fail("bytes that must be zero are not");
  header.checksum = reader.U64();
  header.hash = ReadDigest(reader);
  const ByteSpan padding = reader.Raw(kBlockHeader - (bytes.size() - reader.remaining()));
  if (std::ranges::any_of(padding, [](uint8_t byte) { return byte != 0; })) {
    reader.Fail("bytes that must be zero are not");
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  const ByteSpan raw = reader.Raw(reader.remaining());
  if (raw.size() != words * sizeof(uint32_t)) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": has another size than a block of this gallery"));
  }
  *residues = {reinterpret_cast<const uint32_t*>(raw.data()), words};
  return header;
}

std::vector<uint8_t> SerializeNamed(const NamedPlaces& named) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.U32(named.waiting);
  writer.U64(named.places.size());
  for (const uint64_t place : named.places) writer.U64(place);
  return writer.Take();
}

absl::StatusOr<NamedPlaces> ParseNamed(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  NamedPlaces named;
  named.waiting = reader.U32();
  named.places.resize(reader.Count(sizeof(uint64_t), kMostPlaces));
  for (uint64_t& place : named.places) place = reader.U64();
  for (size_t i = 1; i < named.places.size(); ++i) {
    if (named.places[i - 1] >= named.places[i]) reader.Fail("places out of order");
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return named;
}

StoreKey HeadKey(uint32_t gallery) { return Prefix(gallery); }

StoreKey BlockKey(uint32_t gallery, uint32_t epoch, uint64_t block) {
  StoreKey key = Prefix(gallery);
  const StoreKey second = Prefix(epoch);
  key.insert(key.end(), second.begin(), second.end());
  Append(&key, block);
  return key;
}

StoreKey InfoKey(uint32_t gallery, uint64_t block) {
  StoreKey key = Prefix(gallery);
  key.push_back('i');
  Append(&key, block);
  return key;
}

StoreKey RunDigestsKey(uint32_t gallery, uint64_t block) {
  StoreKey key = Prefix(gallery);
  key.push_back('r');
  Append(&key, block);
  return key;
}

StoreKey RunKey(uint32_t gallery, uint64_t run) { return NumberKey(gallery, run); }

StoreKey NumberKey(uint32_t gallery, uint64_t number) {
  StoreKey key = Prefix(gallery);
  Append(&key, number);
  return key;
}

StoreKey DigestKey(uint32_t gallery, ByteSpan digest) {
  StoreKey key = Prefix(gallery);
  key.insert(key.end(), digest.begin(), digest.end());
  return key;
}

StoreKey NameKey(uint32_t gallery, const GalleryId& id, std::string_view identity) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT name"));
  writer.Raw(id);
  writer.Raw(AsBytes(identity));
  return DigestKey(gallery, Shortened(HashBytes(writer.bytes())));
}

uint64_t NumberOf(ByteSpan key) {
  uint64_t number = 0;
  for (const uint8_t byte : key.last(std::min<size_t>(key.size(), 8))) number = number << 8 | byte;
  return number;
}

bool OfGallery(uint32_t gallery, ByteSpan key) {
  const StoreKey prefix = Prefix(gallery);
  return key.size() >= prefix.size() && std::ranges::equal(key.first(prefix.size()), prefix);
}

}  // namespace heft
