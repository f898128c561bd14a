// SPDX-License-Identifier: Apache-2.0
// Records of people: positions, pending enrolments, erasures.
#include <algorithm>

#include "base/identity.h"
#include "ckks/serialization.h"
#include "gallery/metadata_format.h"
#include "gallery/record_format.h"
#include "gallery/records.h"

namespace heft {

using internal::kMaxPlaces;
using internal::kRecordVersion;
using internal::Padded;
using internal::ReadPadding;
using internal::Versioned;

namespace {

// Of runs and receipts, where they have times; others are written as they were.
constexpr uint8_t kRunVersion = 2, kReceiptVersion = 2;
constexpr uint8_t kPendingVersion = 3;  // with client and size
constexpr std::string_view kPendingMagic = "HGWT";
constexpr uint64_t kMaxParts = 1 << 10;
constexpr uint64_t kMaxTemplatesOfGallery = uint64_t{1} << 28;

bool HasTimes(const Run& run) {
  return std::ranges::any_of(run, [](const Resident& r) { return r.left != 0; });
}

}  // namespace

std::vector<uint8_t> SerializeRun(const Run& run) {
  ByteWriter writer;
  const bool times = HasTimes(run);
  writer.U8(times ? kRunVersion : kRecordVersion);
  for (const Resident& r : run) {
    writer.U8(static_cast<uint8_t>(r.state));
    writer.F64(r.clean);
    if (r.state == PlaceState::kFree) continue;
    ckks::WriteId(writer, r.person);
    if (r.state == PlaceState::kLeaving) {
      if (times) writer.U64(r.left);
      if (times) ckks::WriteId(writer, r.name);
      continue;
    }
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
  ByteReader reader(bytes, what);
  const uint8_t version = reader.U8();
  if (version != kRecordVersion && version != kRunVersion) {
    reader.Fail("of a later version of the format");
  }
  const bool times = version == kRunVersion;
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
    if (r.state == PlaceState::kLeaving) {
      if (times) r.left = reader.U64();
      if (times) r.name = ckks::ReadId(reader);
      continue;
    }
    r.identity = reader.String(256);
    r.sample = ckks::ReadId(reader);
    r.parts.resize(reader.Count(sizeof(SampleDigest), kMaxParts));
    for (SampleDigest& part : r.parts) part = ckks::ReadId(reader);
    r.contribution = ReadDigest(reader);
    r.entry = reader.U64();
    r.generation = reader.U64();
    r.enrolled = reader.U64();
    r.expires = reader.U64();
    r.metadata = ReadMetadata(reader);
    if (reader.ok() && !CheckIdentity(r.identity).ok()) reader.Fail("an invalid name");
  }
  ReadPadding(reader, bytes.size());
  if (times && !HasTimes(run)) reader.Fail("of another version than what is in it");
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return run;
}

Digest RunDigest(ByteSpan serialized) { return HashBytes(serialized); }

std::vector<uint8_t> SerializeNamed(const NamedPlaces& named) {
  ByteWriter writer;
  writer.U8(kRecordVersion);
  writer.U32(named.pending);
  writer.U64(named.places.size());
  for (const uint64_t place : named.places) writer.U64(place);
  return writer.Take();
}

absl::StatusOr<NamedPlaces> ParseNamed(ByteSpan bytes, std::string_view what) {
  ByteReader reader = Versioned(bytes, what);
  NamedPlaces named;
  named.pending = reader.U32();
  named.places.resize(reader.Count(sizeof(uint64_t), kMaxPlaces));
  for (uint64_t& place : named.places) place = reader.U64();
  for (size_t i = 1; i < named.places.size(); ++i) {
    if (named.places[i - 1] >= named.places[i]) reader.Fail("places out of order");
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return named;
}

bool HaveTimes(std::span<const ErasedItem> items) {
  return std::ranges::any_of(items, [](const ErasedItem& item) { return item.removed != 0; });
}

void WriteErased(ByteWriter& writer, uint64_t removed, uint64_t erased,
                 std::span<const ErasedItem> items) {
  const bool times = HaveTimes(items);
  writer.U64(removed);
  writer.U64(erased);
  writer.U64(items.size());
  for (const ErasedItem& item : items) {
    ckks::WriteId(writer, item.person);
    writer.U32(item.templates);
    if (times) writer.U64(item.removed);
  }
}

void ReadErased(ByteReader& reader, bool times, uint64_t* removed, uint64_t* erased,
                std::vector<ErasedItem>* items) {
  *removed = reader.U64();
  *erased = reader.U64();
  items->resize(reader.Count(times ? 28 : 20, kMaxTemplatesOfGallery));
  for (ErasedItem& item : *items) {
    item.person = ckks::ReadId(reader);
    item.templates = reader.U32();
    if (times) item.removed = reader.U64();
  }
  if (reader.ok() && times != HaveTimes(*items)) {
    reader.Fail("of another version than what is in it");
  }
}

std::vector<uint8_t> SerializeReceipt(const ReceiptRecord& receipt) {
  ByteWriter writer;
  writer.U8(HaveTimes(receipt.items) ? kReceiptVersion : kRecordVersion);
  writer.U64(receipt.generation);
  WriteErased(writer, receipt.removed, receipt.erased, receipt.items);
  writer.U64(receipt.receipt.size());
  writer.Raw(receipt.receipt);
  return writer.Take();
}

absl::StatusOr<ReceiptRecord> ParseReceipt(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  const uint8_t version = reader.U8();
  if (version != kRecordVersion && version != kReceiptVersion) {
    reader.Fail("of a later version of the format");
  }
  ReceiptRecord receipt;
  receipt.generation = reader.U64();
  ReadErased(reader, version == kReceiptVersion, &receipt.removed, &receipt.erased, &receipt.items);
  const ByteSpan raw = reader.Raw(reader.Count(1, kMaxPlaces));
  receipt.receipt.assign(raw.begin(), raw.end());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return receipt;
}

std::vector<uint8_t> SerializePending(const PendingRecord& pending) {
  ByteWriter writer;
  writer.Raw(AsBytes(kPendingMagic));
  writer.U8(kPendingVersion);
  writer.Raw(pending.client);
  writer.U64(pending.bytes);
  writer.U64(pending.identities.size());
  for (const std::string& identity : pending.identities) writer.String(identity);
  writer.U64(pending.samples.size());
  for (const SampleDigest& sample : pending.samples) ckks::WriteId(writer, sample);
  return Padded(writer.Take());
}

absl::StatusOr<PendingRecord> ParsePending(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  if (!std::ranges::equal(reader.Raw(kPendingMagic.size()), AsBytes(kPendingMagic)) ||
      reader.U8() != kPendingVersion) {
    reader.Fail("of another version of the format: enrol these people again");
  }
  PendingRecord pending;
  pending.client = ReadDigest(reader);
  pending.bytes = reader.U64();
  pending.identities.resize(reader.Count(sizeof(uint64_t), kMaxTemplatesOfGallery));
  for (std::string& identity : pending.identities) identity = reader.String(256);
  pending.samples.resize(reader.Count(sizeof(SampleDigest), kMaxTemplatesOfGallery));
  for (SampleDigest& sample : pending.samples) sample = ckks::ReadId(reader);
  ReadPadding(reader, bytes.size());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return pending;
}

}  // namespace heft
