// SPDX-License-Identifier: Apache-2.0
// The quarantine of a gallery: enrolments that nobody has admitted yet. No reader of the gallery
// looks there.
#include "absl/strings/str_cat.h"
#include "gallery/change.h"
#include "gallery/gallery_impl.h"

namespace heft {
namespace {

constexpr uint64_t kMostTemplates = uint64_t{1} << 28;

// What a change looks at instead of the enrolment itself, which may be large.
struct WaitingRecord {
  std::vector<std::string> identities;
  std::vector<SampleDigest> samples;  // those in means too
};

std::vector<uint8_t> Serialize(std::span<const Enrolment> templates) {
  ByteWriter writer;
  writer.U64(templates.size());
  std::vector<SampleDigest> samples;
  for (const Enrolment& t : templates) {
    writer.String(t.identity);
    samples.push_back(t.sample);
    samples.insert(samples.end(), t.parts.begin(), t.parts.end());
  }
  writer.U64(samples.size());
  for (const SampleDigest& sample : samples) writer.Raw(sample);
  // A long value has pages of its own (gallery/records.cc, SerializeRun).
  std::vector<uint8_t> bytes = writer.Take();
  bytes.resize(std::max<size_t>(bytes.size(), 4096));
  return bytes;
}

absl::StatusOr<WaitingRecord> Parse(ByteSpan bytes) {
  ByteReader reader(bytes, "the gallery's quarantine");
  WaitingRecord record;
  record.identities.resize(reader.Count(sizeof(uint64_t), kMostTemplates));
  for (std::string& identity : record.identities) identity = reader.String(256);
  record.samples.resize(reader.Count(sizeof(SampleDigest), kMostTemplates));
  for (SampleDigest& sample : record.samples) {
    const ByteSpan raw = reader.Raw(sample.size());
    if (reader.ok()) std::ranges::copy(raw, sample.begin());
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  return record;
}

}  // namespace

absl::Status GalleryChange::PutQuarantined(ByteSpan bytes, std::span<const Enrolment> templates) {
  const StoreKey key = DigestKey(number_, HashBytes(bytes));
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kQuarantine, key, bytes));
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kWaiting, key, Serialize(templates)));
  ByteWriter place;
  place.U64(kWaitingPlace);
  for (const Enrolment& t : templates) {
    HEFT_RETURN_IF_ERROR(Name(t.identity, [](NamedPlaces* named) { ++named->waiting; }));
    std::vector<SampleDigest> samples = t.parts;
    samples.push_back(t.sample);
    for (const SampleDigest& sample : samples) {
      if (sample == SampleDigest{}) continue;
      HEFT_RETURN_IF_ERROR(
          writer_->Put(Table::kSamples, DigestKey(number_, sample), place.bytes()));
    }
  }
  return absl::OkStatus();
}

absl::Status GalleryChange::DropQuarantined(const Digest& digest) {
  const StoreKey key = DigestKey(number_, digest);
  HEFT_ASSIGN_OR_RETURN(const auto bytes, writer_->Get(Table::kWaiting, key));
  if (!bytes) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const WaitingRecord record, Parse(*bytes));
  HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kWaiting, key));
  HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kQuarantine, key));
  for (const std::string& identity : record.identities) {
    HEFT_RETURN_IF_ERROR(Name(identity, [](NamedPlaces* named) {
      if (named->waiting > 0) --named->waiting;
    }));
  }
  for (const SampleDigest& sample : record.samples) {
    HEFT_ASSIGN_OR_RETURN(const auto place, FindSample(sample));
    if (!place || *place != kWaitingPlace) continue;
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kSamples, DigestKey(number_, sample)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Gallery::Impl::WaitingEntry>> Gallery::Impl::Waiting() const {
  std::vector<WaitingEntry> out;
  if (reader_ == nullptr) return out;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      reader_->Scan(Table::kWaiting, HeadKey(number_), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        auto record = Parse(value);
        status = record.status();
        if (!status.ok()) return false;
        WaitingEntry entry;
        const ByteSpan digest = key.last(entry.digest.size());
        std::ranges::copy(digest, entry.digest.begin());
        entry.identities = std::move(record->identities);
        out.push_back(std::move(entry));
        return true;
      }));
  HEFT_RETURN_IF_ERROR(status);
  return out;
}

absl::StatusOr<ByteSpan> Gallery::Impl::Quarantined(const Digest& digest) const {
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kQuarantine, DigestKey(number_, digest)));
  if (!bytes) return absl::DataLossError(absl::StrCat(What(), ": an enrolment that waits is lost"));
  return *bytes;
}

}  // namespace heft
