// SPDX-License-Identifier: Apache-2.0
#include "gallery/records.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "ckks/serialization.h"
#include "gallery/record_format.h"

namespace heft {

using internal::kMaxPlaces;
using internal::kRecordVersion;
using internal::Padded;
using internal::ReadPadding;
using internal::Versioned;

namespace {

constexpr uint64_t kMaxRevoked = 1 << 16;
constexpr std::string_view kBlockMagic = "HGBK";

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

// kHeadVersion: 2 since blocks of 128 dimensions and more contain giants.
constexpr uint8_t kHeadVersion = 2;

std::vector<uint8_t> SerializeHead(const GalleryHead& head) {
  ByteWriter writer;
  writer.U8(kHeadVersion);
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
  ByteReader reader(bytes, what);
  if (reader.U8() != kHeadVersion) {
    reader.Fail("of another version of the format: enrol the people again with this one");
  }
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
  head.revoked.resize(reader.Count(sizeof(ckks::KeyId), kMaxRevoked));
  for (ckks::KeyId& key : head.revoked) key = ckks::ReadId(reader);
  if (head.places > kMaxPlaces || head.live > head.places ||
      head.leaving > head.places - head.live || head.folded >= head.next_entry ||
      head.retired > head.folded || head.block_places % kRunPlaces != 0 ||
      (head.places > 0 && head.block_places == 0)) {
    reader.Fail("numbers that contradict each other");
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return head;
}

Digest Chained(const Digest& chain, uint64_t position, const Digest& contribution) {
  ByteWriter writer;
  writer.Raw(chain);
  writer.U64(position);
  writer.Raw(contribution);
  return HashBytes(writer.bytes());
}

std::vector<uint8_t> SerializeBlockInfo(const BlockInfo& info) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.U64(info.generation);
  for (const Digest* d : {&info.checkpoint, &info.pending, &info.roster, &info.leaf})
    writer.Raw(*d);
  writer.U32(info.live);
  writer.U32(info.leaving);
  writer.F64(info.error.added);
  writer.F64(info.error.least_clean);
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
  info.error.added = reader.F64();
  info.error.least_clean = reader.F64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return info;
}

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
  exchange.sources.resize(reader.Count(8 + sizeof(Digest), kMaxPlaces));
  for (ExchangeRecord::Source& source : exchange.sources) {
    source.block = reader.U64();
    source.checkpoint = ReadDigest(reader);
  }
  exchange.targets.resize(reader.Count(16, kMaxPlaces));
  for (ExchangeRecord::Target& target : exchange.targets) {
    target.block = reader.U64();
    target.moves.resize(reader.Count(12, kMaxPlaces));
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

}  // namespace heft
