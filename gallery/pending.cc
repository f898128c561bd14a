// SPDX-License-Identifier: Apache-2.0
// Pending enrolments, which the key owner has not approved. No reader
// of the gallery sees them.
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "gallery/gallery_impl.h"

namespace heft {
namespace {

PendingRecord PendingRecordOf(std::span<const Enrolment> templates, const SignerKey& client,
                        uint64_t bytes) {
  PendingRecord pending;
  pending.client = client;
  pending.bytes = bytes;
  for (const Enrolment& t : templates) {
    pending.identities.push_back(t.identity);
    pending.samples.push_back(t.sample);
    pending.samples.insert(pending.samples.end(), t.parts.begin(), t.parts.end());
  }
  return pending;
}

constexpr std::string_view kWhat = "a pending enrolment";

}  // namespace

absl::Status GalleryChange::PutPending(ByteSpan bytes, std::span<const Enrolment> templates,
                                           const SignerKey& client) {
  const StoreKey key = DigestKey(number_, HashBytes(bytes));
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kPendingFile, key, bytes));
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kPending, key,
                                    SerializePending(PendingRecordOf(templates, client, bytes.size()))));
  ByteWriter place;
  place.U64(kPendingPlace);
  for (const Enrolment& t : templates) {
    HEFT_RETURN_IF_ERROR(Name(t.identity, [](NamedPlaces* named) { ++named->pending; }));
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

absl::StatusOr<std::optional<size_t>> GalleryChange::DropPending(const Digest& digest) {
  const StoreKey key = DigestKey(number_, digest);
  const auto bytes = writer_->Get(Table::kPending, key);
  if (!bytes.ok() && !absl::IsDataLoss(bytes.status())) return bytes.status();
  const auto waits = writer_->Get(Table::kPendingFile, key);
  if (!waits.ok() && !absl::IsDataLoss(waits.status())) return waits.status();
  if (bytes.ok() && !*bytes && waits.ok() && !*waits) return std::optional<size_t>();
  PendingRecord record;
  if (bytes.ok() && *bytes) {
    HEFT_ASSIGN_OR_RETURN(record, ParsePending(**bytes, kWhat));
  }
  HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kPending, key));
  HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kPendingFile, key));
  for (const std::string& identity : record.identities) {
    HEFT_RETURN_IF_ERROR(Name(identity, [](NamedPlaces* named) {
      if (named->pending > 0) --named->pending;
    }));
  }
  for (const SampleDigest& sample : record.samples) {
    const auto place = FindSample(sample);
    if (!place.ok() && !absl::IsDataLoss(place.status())) return place.status();
    if (place.ok() && (!*place || **place != kPendingPlace)) continue;
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kSamples, DigestKey(number_, sample)));
  }
  return std::optional<size_t>(record.identities.size());
}

absl::StatusOr<std::vector<Gallery::Impl::PendingEntry>> Gallery::Impl::PendingEnrolments() const {
  std::vector<PendingEntry> out;
  if (reader_ == nullptr) return out;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      reader_->Scan(Table::kPending, HeadKey(number_), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        auto record = ParsePending(value, kWhat);
        status = record.status();
        if (!status.ok()) return false;
        PendingEntry entry;
        const ByteSpan digest = key.last(entry.digest.size());
        std::ranges::copy(digest, entry.digest.begin());
        entry.record = *std::move(record);
        out.push_back(std::move(entry));
        return true;
      }));
  HEFT_RETURN_IF_ERROR(status);
  return out;
}

absl::Status CheckRoom(std::span<const Gallery::Impl::PendingEntry> pending,
                       const SignerKey& client, uint64_t bytes, const ClientLimits& limits) {
  uint64_t enrolments = 0, used = 0;
  for (const Gallery::Impl::PendingEntry& entry : pending) {
    if (entry.record.client != client) continue;
    ++enrolments;
    used += entry.record.bytes;
  }
  const bool many = enrolments >= limits.enrolments;
  if (!many && bytes <= limits.bytes && used <= limits.bytes - bytes) return absl::OkStatus();
  const std::string who = client == SignerKey{}
                              ? std::string("clients without a signature have ")
                              : absl::StrCat("client ", HexString(client), " has ");
  return absl::ResourceExhaustedError(absl::StrCat(
      who, enrolments, " pending enrolments of ", used >> 20, " MiB in this gallery, and ",
      many ? absl::StrCat("one client may have ", limits.enrolments)
           : absl::StrCat("with this one of ", bytes >> 20, " MiB it would have more than the ",
                          limits.bytes >> 20, " MiB of one client"),
      ": let the key owner decide them first (heft-server pending, heft answer, heft-server "
      "apply)"));
}

absl::StatusOr<ByteSpan> Gallery::Impl::PendingFile(const Digest& digest) const {
  const StoreKey key = DigestKey(number_, digest);
  HEFT_ASSIGN_OR_RETURN(const auto bytes, reader_->Get(Table::kPendingFile, key));
  if (!bytes || Digest(HashBytes(*bytes)) != digest) {
    const Damage damage = {Table::kPendingFile, key, false};
    cache_->records()->Note(damage);
    return absl::DataLossError(Describe(damage));
  }
  return *bytes;
}

}  // namespace heft
