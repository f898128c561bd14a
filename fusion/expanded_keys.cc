// SPDX-License-Identifier: Apache-2.0
#include "fusion/expanded_keys.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/kinds.h"
#include "base/threads.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"

namespace heft {

using Entry = ExpandedKeys::Impl::Entry;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxKeys = 4097;  // an EVAL file's, and the ring switch
constexpr uint32_t kMaxLimbs = 64;
constexpr uint32_t kLeastDegree = ring::kTile, kMaxDegree = 1 << 17;

size_t PageAfter(size_t size) { return (size + kPage - 1) / kPage * kPage; }

ByteSpan BytesOf(std::span<const uint32_t> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

void WriteSource(ByteWriter& writer, const KeySource& source) {
  writer.Raw(AsBytes(source.kind));
  for (const uint64_t field :
       {source.stamp.inode, source.stamp.size, source.stamp.modified, source.stamp.changed}) {
    writer.U64(field);
  }
  writer.Raw(source.bytes);
  writer.Raw(source.head.file);
  writer.U64(source.head.bytes.size());
  writer.Raw(source.head.bytes);
}

Hash ReadHash(ByteReader& reader) {
  Hash hash{};
  std::ranges::copy(reader.Raw(hash.size()), hash.begin());
  return hash;
}

KeySource ReadSource(ByteReader& reader) {
  KeySource source;
  const ByteSpan kind = reader.Raw(4);
  source.kind.assign(kind.begin(), kind.end());
  for (uint64_t* field :
       {&source.stamp.inode, &source.stamp.size, &source.stamp.modified, &source.stamp.changed}) {
    *field = reader.U64();
  }
  source.bytes = ReadHash(reader);
  source.head.file = ReadHash(reader);
  const uint64_t head = reader.Count(1, kSignedHeadSize);
  if (reader.ok() && head != 0 && head != kSignedHeadSize) reader.Fail("a signature cut short");
  const ByteSpan bytes = reader.Raw(head);
  source.head.bytes.assign(bytes.begin(), bytes.end());
  return source;
}

// Listed: a key's entry in the envelope.
struct Listed {
  uint32_t element = 0, limbs = 0;
  uint64_t checksum = 0;
};

std::vector<Listed> ReadList(ByteReader& reader) {
  std::vector<Listed> list(reader.Count(16, kMaxKeys));
  for (Listed& key : list) {
    key.element = reader.U32();
    key.limbs = reader.U32();
    key.checksum = reader.U64();
    if (reader.ok() && (key.limbs < 1 || key.limbs > kMaxLimbs)) {
      reader.Fail(absl::StrCat("a key of ", key.limbs, " limbs"));
    }
  }
  return list;
}

// The envelope at the start of `bytes`, which are longer.
absl::StatusOr<ByteSpan> FirstEnvelope(ByteSpan bytes, std::string_view what) {
  if (EnvelopeKind(bytes) == kExpandedKeysKind) {
    const uint64_t size = ByteReader(bytes.subspan(16), what).U64();
    if (size <= bytes.size() && size + kEnvelopeOverhead <= bytes.size()) {
      bytes = bytes.first(size + kEnvelopeOverhead);
    }
  }
  HEFT_RETURN_IF_ERROR(OpenEnvelope(bytes, kExpandedKeysKind, kExpandedKeysVersion, what).status());
  return bytes;
}

absl::Status Damaged(std::string_view what, std::string_view why) {
  return absl::DataLossError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

}  // namespace

absl::StatusOr<ExpandedKeys::Impl> ExpandedKeys::Impl::Parse(ByteSpan bytes,
                                                             std::shared_ptr<const void> owner,
                                                             std::string_view what) {
  if constexpr (std::endian::native != std::endian::little) {
    return absl::FailedPreconditionError("this machine cannot map keys: it has another byte order");
  }
  HEFT_ASSIGN_OR_RETURN(const ByteSpan envelope, FirstEnvelope(bytes, what));
  ByteReader reader(envelope.subspan(kEnvelopeHeaderSize, envelope.size() - kEnvelopeOverhead),
                    what);
  Impl out;
  out.bytes_ = bytes.size();
  out.params_id_ = ckks::ReadId(reader);
  out.key_id_ = ckks::ReadId(reader);
  out.source_ = ReadSource(reader);
  if (reader.U32() != ring::kTile) reader.Fail("values in another order than this program's");
  out.n_ = reader.U32();
  if (!std::has_single_bit(out.n_) || out.n_ < kLeastDegree || out.n_ > kMaxDegree) {
    reader.Fail(absl::StrCat("a ring of degree ", out.n_));
  }
  const std::vector<Listed> list = ReadList(reader);
  HEFT_RETURN_IF_ERROR(reader.Finish());

  // Keys of at most 4 GB each, and a limited number: no sum of sizes overflows.
  size_t at = PageAfter(envelope.size()), end = at;
  for (const Listed& key : list) {
    end += ckks::SwitchKey::ValueCount(out.n_, key.limbs) * sizeof(uint32_t);
  }
  if (end != bytes.size()) return Damaged(what, "truncated or extended");
  if (std::ranges::any_of(bytes.subspan(envelope.size(), at - envelope.size()),
                          [](uint8_t byte) { return byte != 0; })) {
    return Damaged(what, "the bytes between list and values are not zero");
  }
  for (const Listed& key : list) {
    std::shared_ptr<const uint32_t> values(owner,
                                           reinterpret_cast<const uint32_t*>(bytes.data() + at));
    out.entries_.push_back(
        {key.element, ckks::SwitchKey::Mapped(out.n_, key.limbs, std::move(values))});
    at += out.entries_.back().key.bytes();
  }
  HEFT_RETURN_IF_ERROR(TryParallelFor(list.size(), [&](size_t i) {
    if (FastChecksum(BytesOf(out.entries_[i].key.values())) == list[i].checksum) {
      return absl::OkStatus();
    }
    return Damaged(what, "checksum mismatch, the file is damaged");
  }));
  return out;
}

std::vector<ByteSpan> ExpandedPieces::all() const {
  std::vector<ByteSpan> pieces = {head};
  pieces.insert(pieces.end(), values.begin(), values.end());
  return pieces;
}

ExpandedPieces PackExpandedKeys(const KeySource& source, const ckks::ParamsId& params_id,
                                const ckks::KeyId& key_id, uint32_t n,
                                std::span<const Entry> entries) {
  ByteWriter writer;
  ckks::WriteId(writer, params_id);
  ckks::WriteId(writer, key_id);
  WriteSource(writer, source);
  writer.U32(ring::kTile);
  writer.U32(n);
  writer.U64(entries.size());
  std::vector<uint64_t> checksums(entries.size());
  ParallelFor(entries.size(),
              [&](size_t i) { checksums[i] = FastChecksum(BytesOf(entries[i].key.values())); });
  ExpandedPieces pieces;
  for (size_t i = 0; i < entries.size(); ++i) {
    writer.U32(entries[i].element);
    writer.U32(static_cast<uint32_t>(entries[i].key.limbs()));
    writer.U64(checksums[i]);
    pieces.values.push_back(BytesOf(entries[i].key.values()));
  }
  pieces.head = SealEnvelope(kExpandedKeysKind, kExpandedKeysVersion, writer.bytes());
  pieces.head.resize(PageAfter(pieces.head.size()));
  return pieces;
}

namespace {

absl::Status CheckElement(const ckks::Context& context, uint32_t element,
                          const ckks::EvaluationKeys& keys, std::string_view what) {
  if (element % 2 == 0 || element >= 2 * context.n()) {
    return Damaged(what, absl::StrCat(element, " is not a Galois element"));
  }
  const bool twice =
      element == 1 ? keys.relinearisation.limbs() > 0 : keys.galois.count(element) > 0;
  if (twice) return Damaged(what, absl::StrCat("two keys of Galois element ", element));
  return absl::OkStatus();
}

// Puts the ring switch into `ring_switch`, if that is not null.
absl::Status TakeEntries(const ckks::Context& context, const ExpandedKeys::Impl& expanded,
                         std::string_view what, ckks::EvaluationKeys* keys,
                         ckks::SwitchKey* ring_switch) {
  HEFT_RETURN_IF_ERROR(CheckParamsId(context.params(), expanded.params_id(), what));
  if (expanded.n() != context.n()) return Damaged(what, "a ring of another degree");
  keys->key_id = expanded.key_id();
  for (const Entry& entry : expanded.entries()) {
    if (entry.key.limbs() > context.params().limbs()) return Damaged(what, "too many limbs");
    if (ring_switch != nullptr && entry.element == kRingSwitchElement) {
      if (ring_switch->limbs() > 0) return Damaged(what, "two ring switches");
      *ring_switch = entry.key;
      continue;
    }
    HEFT_RETURN_IF_ERROR(CheckElement(context, entry.element, *keys, what));
    (entry.element == 1 ? keys->relinearisation : keys->galois[entry.element]) = entry.key;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeExpandedKeys(const Rings& rings, const ExpandedKeys::Impl& expanded,
                              std::string_view kind, std::string_view what, RingKeys* keys) {
  if (expanded.source().kind != kind) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": expanded from a file of another kind: ",
                     KindName(expanded.source().kind), ", not ", KindName(kind)));
  }
  if (kind == kEvaluationKeysKind) {
    return TakeEntries(*rings.matching.context, expanded, what, &keys->matching, nullptr);
  }
  if (!rings.thin()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), ": this model's profile has no enrolment keys"));
  }
  HEFT_RETURN_IF_ERROR(CheckKeyId(keys->matching.key_id, expanded.key_id(), what));
  HEFT_RETURN_IF_ERROR(
      TakeEntries(*rings.enrolment.context, expanded, what, &keys->enrolment, &keys->ring_switch));
  const size_t limbs = keys->ring_switch.limbs();
  if (limbs >= TemplateLimbs(rings.enrolment.params()) &&
      limbs <= rings.switching->params().limbs()) {
    return absl::OkStatus();
  }
  return Damaged(what, "no ring switch for these rings");
}

namespace {

std::vector<Entry> EntriesOf(ckks::EvaluationKeys keys, ckks::SwitchKey ring_switch) {
  std::vector<Entry> entries;
  if (ring_switch.limbs() > 0) entries.push_back({kRingSwitchElement, std::move(ring_switch)});
  if (keys.relinearisation.limbs() > 0) entries.push_back({1, std::move(keys.relinearisation)});
  for (auto& [element, key] : keys.galois) entries.push_back({element, std::move(key)});
  return entries;
}

// The key id in a file of kind ENRK, if the file is complete.
ckks::KeyId KeyIdOf(ByteSpan file) {
  ByteReader reader(file.subspan(std::min(file.size(), kEnvelopeHeaderSize)), "");
  ckks::ReadId(reader);
  return ckks::ReadId(reader);
}

}  // namespace

absl::Status ExpandedKeys::Make(const Model& model, const std::string& source,
                                const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  KeySource from;
  // Before reading, so that a later change is detected.
  HEFT_ASSIGN_OR_RETURN(from.stamp, SettledFileStamp(source));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(source, kMaxKeysSize));
  HEFT_ASSIGN_OR_RETURN(from.head, HeadOf(bytes, source));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Unsigned(bytes, source));
  from.bytes = HashBytes(bytes);
  from.kind = EnvelopeKind(file);
  RingKeys keys;
  const bool enrolment = from.kind == kEnrolmentKeysKind;
  if (enrolment) {
    keys.matching.key_id = KeyIdOf(file);
    HEFT_RETURN_IF_ERROR(ParseEnrolmentKeys(rings, file, source, &keys));
  } else {
    HEFT_ASSIGN_OR_RETURN(keys.matching,
                          ParseEvaluationKeys(*rings.matching.context, file, source));
  }
  const Instance& instance = enrolment ? rings.enrolment : rings.matching;
  const ckks::KeyId key_id = keys.matching.key_id;
  const std::vector<Entry> entries =
      EntriesOf(enrolment ? std::move(keys.enrolment) : std::move(keys.matching),
                std::move(keys.ring_switch));
  const ExpandedPieces pieces =
      PackExpandedKeys(from, instance.params().id(), key_id, instance.context->n(), entries);
  return WriteFileAtomic(path, pieces.all());
}

absl::StatusOr<ExpandedKeys> ExpandedKeys::Open(const std::string& path,
                                                const std::string& source) {
  HEFT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  HEFT_ASSIGN_OR_RETURN(const FileStamp stamp, FileStampOf(source));
  HEFT_ASSIGN_OR_RETURN(Impl impl, Impl::Parse(file.bytes(), file.owner(), path));
  if (stamp != impl.source().stamp) {
    // The same bytes may have been moved or copied.
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(source, kMaxKeysSize));
    if (HashBytes(bytes) != impl.source().bytes) {
      return Damaged(path, absl::StrCat("made from other keys than now are in ", source));
    }
  }
  return Inside::Make<ExpandedKeys>(std::make_unique<Impl>(std::move(impl)));
}

ExpandedKeys::ExpandedKeys(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExpandedKeys::ExpandedKeys(ExpandedKeys&&) noexcept = default;
ExpandedKeys& ExpandedKeys::operator=(ExpandedKeys&&) noexcept = default;
ExpandedKeys::~ExpandedKeys() = default;

absl::StatusOr<SignedFile> ExpandedKeys::CheckSigned(const Trust& trust, const Expected& expected,
                                                     std::string_view what) const {
  return OpenSignedHead(impl_->source().head, impl_->source().kind, trust, expected, what);
}

size_t ExpandedKeys::bytes() const { return impl_->bytes(); }

}  // namespace heft
