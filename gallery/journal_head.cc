// SPDX-License-Identifier: Apache-2.0
#include "gallery/journal_head.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/signed_file.h"
#include "ckks/serialization.h"
#include "gallery/change.h"
#include "heft/results.h"

namespace heft {
namespace {

constexpr uint32_t kJournalHeadVersion = 1;
constexpr uint8_t kKeptVersion = 1;
constexpr std::string_view kKeptWhat = "the gallery's record of the key owner's journal";

// The record of a gallery's key, beside the gallery's own.
StoreKey KeptKey(uint32_t gallery, const ckks::KeyId& key_id) {
  StoreKey key = HeadKey(gallery);
  key.push_back('j');
  key.insert(key.end(), key_id.begin(), key_id.end());
  return key;
}

absl::StatusOr<KeptHead> ReadKept(const StoreReader& reader, uint32_t gallery,
                                  const ckks::KeyId& key_id) {
  HEFT_ASSIGN_OR_RETURN(const auto bytes, reader.Get(Table::kHead, KeptKey(gallery, key_id)));
  return bytes ? ParseKeptHead(*bytes, kKeptWhat) : KeptHead();
}

// The head in a signed file whose signature was checked when it was kept.
absl::StatusOr<JournalHead> HeadIn(ByteSpan file) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan inside, Unsigned(file, kKeptWhat));
  return JournalHead::Parse(inside, kKeptWhat);
}

std::string ForkText(const JournalHead& kept, const JournalHead& other) {
  return absl::StrCat(
      "the key owner's journal has two different entries ", kept.sequence, ", of ",
      UtcText(kept.time), " and ", UtcText(other.time),
      ": it was put back to an older state, or two copies of it are in use. Find out which, and "
      "use one journal only (SECURITY.md, \"Scores leak\")");
}

// Place: what a head is to the kept one.
enum class Place { kNewer, kKnown, kFork };
absl::StatusOr<Place> PlaceOf(const KeptHead& kept, const JournalHead& head) {
  if (kept.newest.empty()) return Place::kNewer;
  HEFT_ASSIGN_OR_RETURN(const JournalHead newest, HeadIn(kept.newest));
  if (head.sequence > newest.sequence) return Place::kNewer;
  const bool fork = head.sequence == newest.sequence && head.digest != newest.digest;
  return fork ? Place::kFork : Place::kKnown;
}

}  // namespace

std::vector<uint8_t> JournalHead::Serialize() const {
  ByteWriter writer;
  ckks::WriteId(writer, key_id);
  writer.U64(sequence);
  writer.Raw(digest);
  writer.U64(time);
  return SealEnvelope(kHeadKind, kJournalHeadVersion, writer.bytes());
}

absl::StatusOr<JournalHead> JournalHead::Parse(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kHeadKind, kJournalHeadVersion, what));
  ByteReader reader(payload, what);
  JournalHead head;
  head.key_id = ckks::ReadId(reader);
  head.sequence = reader.U64();
  head.digest = ReadDigest(reader);
  head.time = reader.U64();
  if (head.sequence == 0 || head.sequence > kMaxEntries) reader.Fail("an entry of no journal");
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return head;
}

absl::StatusOr<std::vector<uint8_t>> SignHead(const SigningKey& key, const JournalHead& head) {
  return key.Sign({.role = Role::kKeyOwner}, head.Serialize());
}

absl::StatusOr<SignedJournalHead> OpenHead(ByteSpan file, const SignerKey& signer,
                                           const ckks::KeyId& key_id, std::string_view what) {
  const std::string name(what);
  if (file.size() > kMaxHeadBytes) {
    return absl::DataLossError(absl::StrCat(name, ": too large for a journal's end"));
  }
  Trust owner;
  HEFT_RETURN_IF_ERROR(owner.Add(Role::kKeyOwner, "key owner", signer));
  // A head stays true, whatever the clocks say.
  HEFT_ASSIGN_OR_RETURN(const SignedFile unasked, ReadSigned(file, what));
  Expected expected;
  expected.roles = {Role::kKeyOwner};
  expected.kind = kHeadKind;
  expected.now = unasked.statement.issued;
  HEFT_ASSIGN_OR_RETURN(const SignedFile opened, OpenSigned(file, owner, expected, what));
  SignedJournalHead out;
  HEFT_ASSIGN_OR_RETURN(out.head, JournalHead::Parse(opened.file, what));
  if (out.head.key_id != key_id) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": the end of the journal of another key, ", HexString(out.head.key_id),
                     ", and not of ", HexString(key_id)));
  }
  out.file.assign(file.begin(), file.end());
  return out;
}

std::vector<uint8_t> SerializeKeptHead(const KeptHead& kept) {
  ByteWriter writer;
  writer.U8(kKeptVersion);
  for (const std::vector<uint8_t>& file : {kept.newest, kept.fork}) {
    writer.U64(file.size());
    writer.Raw(file);
  }
  return writer.Take();
}

absl::StatusOr<KeptHead> ParseKeptHead(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  if (reader.U8() != kKeptVersion) reader.Fail("of another version");
  KeptHead kept;
  for (std::vector<uint8_t>* file : {&kept.newest, &kept.fork}) {
    const ByteSpan raw = reader.Raw(reader.Count(1, kMaxHeadBytes));
    file->assign(raw.begin(), raw.end());
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return kept;
}

absl::StatusOr<KeptHead> ReadKeptHead(const Gallery::Impl& gallery) {
  if (gallery.store() == nullptr) return KeptHead();
  HEFT_ASSIGN_OR_RETURN(const auto reader, ReadChecked(*gallery.store()));
  return ReadKept(*reader, gallery.number(), gallery.binding().key_id);
}

absl::StatusOr<KeptHead> ReadKeptHead(GalleryChange* change) {
  return ReadKept(change->writer(), change->number(), change->head().binding.key_id);
}

absl::StatusOr<bool> KeepHead(const std::string& gallery, const SignedJournalHead& head) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl impl, Gallery::Impl::Open(gallery));
  if (head.head.key_id != impl.binding().key_id) {
    return absl::FailedPreconditionError(
        absl::StrCat("the end of the journal of key ", HexString(head.head.key_id),
                     ", and this gallery is of ", HexString(impl.binding().key_id)));
  }
  // Most heads are known already; to see this no lock is needed.
  HEFT_ASSIGN_OR_RETURN(KeptHead kept, ReadKeptHead(impl));
  HEFT_ASSIGN_OR_RETURN(Place place, PlaceOf(kept, head.head));
  if (place == Place::kKnown) return false;
  // Without a hold on its state: an erasing writer has the lock and waits for all such holds.
  impl = impl.Unread();
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(impl, /*start=*/false));
  HEFT_ASSIGN_OR_RETURN(kept, ReadKept(change.writer(), change.number(), head.head.key_id));
  HEFT_ASSIGN_OR_RETURN(place, PlaceOf(kept, head.head));
  if (place == Place::kKnown) return false;
  absl::Status fork;
  if (place == Place::kFork) {
    HEFT_ASSIGN_OR_RETURN(const JournalHead newest, HeadIn(kept.newest));
    fork = absl::FailedPreconditionError(ForkText(newest, head.head));
    if (!kept.fork.empty()) return fork;  // the first one is the record
    kept.fork = head.file;
  } else {
    kept.newest = head.file;
  }
  HEFT_RETURN_IF_ERROR(change.writer().Put(Table::kHead, KeptKey(change.number(), head.head.key_id),
                                           SerializeKeptHead(kept)));
  HEFT_RETURN_IF_ERROR(change.Commit());
  HEFT_RETURN_IF_ERROR(fork);
  return true;
}

absl::StatusOr<uint64_t> NewestEntry(const KeptHead& kept) {
  if (kept.newest.empty()) return 0;
  HEFT_ASSIGN_OR_RETURN(const JournalHead newest, HeadIn(kept.newest));
  return newest.sequence;
}

std::string DescribeFork(const KeptHead& kept) {
  if (kept.fork.empty()) return "";
  const auto other = HeadIn(kept.fork);
  if (!other.ok()) return "the record of a fork of the key owner's journal is damaged";
  return absl::StrCat(
      "the key owner's journal was put back to an older state, or copied: it has two different "
      "entries ",
      other->sequence, ", one of them of ", UtcText(other->time));
}

}  // namespace heft
