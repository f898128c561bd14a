// SPDX-License-Identifier: Apache-2.0
#include "fusion/samples.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/identity.h"
#include "base/kinds.h"
#include "base/signed_file.h"
#include "base/threads.h"
#include "ckks/encryptor.h"
#include "ckks/serialization.h"
#include "fusion/compact.h"
#include "fusion/key_files.h"
#include "fusion/sample_head.h"

namespace heft {
namespace {

constexpr std::string_view kCompactKind = "CTXT";
constexpr std::string_view kBulkKind = "CTXS";
constexpr std::string_view kPartialKind = "CTXP";
constexpr std::string_view kFusedKind = "CTXF";
// Version: of each kind. A fused file states its modalities.
uint32_t Version(SampleEncoding encoding) { return encoding == SampleEncoding::kFused ? 2 : 1; }
constexpr uint64_t kMaxSamplesOfFile = 1 << 24;

std::string_view Kind(SampleEncoding encoding) {
  switch (encoding) {
    case SampleEncoding::kBulk:
      return kBulkKind;
    case SampleEncoding::kPartial:
      return kPartialKind;
    case SampleEncoding::kFused:
      return kFusedKind;
    case SampleEncoding::kCompact:
      break;
  }
  return kCompactKind;
}

// The encoding that a file declares; kCompact if it is not a file of samples.
SampleEncoding EncodingOf(std::string_view kind) {
  for (const SampleEncoding e :
       {SampleEncoding::kBulk, SampleEncoding::kPartial, SampleEncoding::kFused}) {
    if (kind == Kind(e)) return e;
  }
  return SampleEncoding::kCompact;
}

// Bytes of one record: determined by context and form.
size_t RecordSize(const ckks::Context& context, bool seeded) {
  const size_t limbs = context.params().limbs();
  return seeded ? ckks::SeededCiphertextSize(context, limbs)
                : ckks::CiphertextSize(context, /*parts=*/2, limbs);
}

// The second part of an encryption is uniform. If a limb of it is zero, the first part reveals the
// message to anyone.
bool Transparent(const ckks::Ciphertext& c) {
  for (size_t l = 0; l < c.limbs(); ++l) {
    const std::span<const uint32_t> limb = c.parts[1].limb(l);
    if (std::all_of(limb.begin(), limb.end(), [](uint32_t v) { return v == 0; })) return true;
  }
  return false;
}

}  // namespace

SampleHeader MakeSampleHeader(const Instance& instance, const Model& model, size_t index,
                              const ckks::KeyId& key_id, bool seeded, SampleForm form) {
  SampleHeader header;
  header.params_id = instance.params().id();
  header.key_id = key_id;
  header.modality = model.modalities[index].name;
  header.dimension = model.modalities[index].dimension;
  header.encoding = form.encoding;
  if (form.encoding == SampleEncoding::kCompact) {
    header.run = instance.plan.projection.pairs[index / 2].run;
    header.gamma = model.gamma;
  }
  if (header.projected()) {
    header.model_id = model.Id();
    header.use = form.use;
    header.gamma = model.gamma;
  }
  if (form.encoding == SampleEncoding::kFused) {
    header.modality.clear();
    header.dimension = model.TotalDimension();
    header.modalities = form.modalities == 0 ? model.AllModalities() : form.modalities;
  }
  header.seeded = seeded;
  return header;
}

absl::StatusOr<SampleEncoder> SampleEncoder::Create(const Instance& instance, const Model& model,
                                                    size_t index,
                                                    std::span<const std::vector<double>> rows,
                                                    std::span<const std::string> labels,
                                                    SampleForm form) {
  if (rows.empty()) return absl::InvalidArgumentError("no vectors to encrypt");
  if (!labels.empty() && labels.size() != rows.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " labels for ", rows.size(), " vectors"));
  }
  SampleEncoder encoder;
  for (size_t i = 0; i < labels.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(encoder.labels_.emplace_back(), NormalIdentityAt(labels[i], "labels", i));
  }
  encoder.instance_ = &instance;
  encoder.model_ = &model;
  encoder.index_ = index;
  encoder.form_ = form;
  encoder.rows_ = rows;
  encoder.labels_.resize(rows.size());
  if (form.encoding == SampleEncoding::kBulk) {
    HEFT_ASSIGN_OR_RETURN(encoder.columns_,
                          SimdColumns::Create(instance, model, index, rows, form.length));
  }
  return encoder;
}

size_t SampleEncoder::size() const { return columns_ ? columns_->dimension() : rows_.size(); }

absl::StatusOr<ckks::Plaintext> SampleEncoder::Encode(size_t i) const {
  if (columns_) return columns_->Encode(*instance_, static_cast<uint32_t>(i));
  const bool compact = form_.encoding == SampleEncoding::kCompact;
  auto plain = compact ? EncodeCompact(*instance_, *model_, index_, rows_[i], form_.length)
                       : EncodeProjected(*instance_, form_.use, rows_[i]);
  if (!plain.ok()) return AtRow(plain.status(), i);
  // The largest coordinate is secret, and the estimate is stored unencrypted.
  plain->noise.message = 1;
  return plain;
}

SampleWriter::SampleWriter(const ckks::Context& context, const SampleHeader& header,
                           std::span<const std::string> labels)
    : context_(context), encoding_(header.encoding) {
  ckks::WriteId(writer_, header.params_id);
  ckks::WriteId(writer_, header.key_id);
  writer_.String(header.modality);
  writer_.U32(header.dimension);
  if (header.encoding == SampleEncoding::kCompact) {
    writer_.U32(header.run);
    writer_.U32(header.gamma);
  }
  if (header.projected()) {
    ckks::WriteId(writer_, header.model_id);
    writer_.U32(header.gamma);
    writer_.U8(header.use == SampleUse::kIdentification ? 1 : 0);
  }
  if (header.encoding == SampleEncoding::kFused) {
    writer_.U8(static_cast<uint8_t>(header.modalities));
  }
  writer_.U8(header.seeded ? 1 : 0);
  writer_.U64(labels.size());
  for (const std::string& label : labels) writer_.String(label);
}

void SampleWriter::Add(const ckks::Ciphertext& ciphertext) {
  ckks::WriteCiphertext(writer_, context_, ciphertext);
}

void SampleWriter::Add(const ckks::SeededCiphertext& ciphertext) {
  ckks::WriteSeededCiphertext(writer_, context_, ciphertext);
}

std::vector<uint8_t> SampleWriter::Finish() {
  return SealEnvelope(Kind(encoding_), Version(encoding_), writer_.bytes());
}

SampleHeader ReadSampleHead(ByteReader& reader, SampleEncoding encoding) {
  SampleHeader header;
  header.encoding = encoding;
  header.params_id = ckks::ReadId(reader);
  header.key_id = ckks::ReadId(reader);
  header.modality = reader.String(64);
  header.dimension = reader.U32();
  if (header.encoding == SampleEncoding::kCompact) {
    header.run = reader.U32();
    header.gamma = reader.U32();
  }
  if (header.projected()) {
    header.model_id = ckks::ReadId(reader);
    header.gamma = reader.U32();
    const uint8_t use = reader.U8();
    if (use > 1) reader.Fail(absl::StrCat("for an unknown use ", use));
    header.use = use == 1 ? SampleUse::kIdentification : SampleUse::kEnrolment;
  }
  if (header.encoding == SampleEncoding::kFused) {
    header.modalities = reader.U8();
    if (header.modalities == 0) reader.Fail("fused of no modality");
  }
  const uint8_t form = reader.U8();
  if (form > 1) reader.Fail(absl::StrCat("unknown form ", form));
  header.seeded = form == 1;
  return header;
}

absl::StatusOr<uint64_t> CountSamples(std::string_view kind, ByteSpan payload,
                                      std::string_view what) {
  const SampleEncoding encoding = EncodingOf(kind);
  if (Kind(encoding) != kind) return 0;
  ByteReader reader(payload, what);
  ReadSampleHead(reader, encoding);
  const uint64_t count = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.status());
  return count;
}

absl::StatusOr<SampleReader> SampleReader::Parse(std::shared_ptr<const ckks::Context> context,
                                                 std::vector<uint8_t> bytes, std::string what) {
  SampleReader samples;
  SampleHeader& header = samples.header_;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Unsigned(bytes, what));
  header.encoding = EncodingOf(EnvelopeKind(file));
  const bool bulk = header.encoding == SampleEncoding::kBulk;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(file, Kind(header.encoding), Version(header.encoding), what));
  ByteReader reader(payload, what);
  header = ReadSampleHead(reader, header.encoding);
  if (payload.size() < sizeof(header.params_id)) return reader.status();
  HEFT_RETURN_IF_ERROR(CheckParamsId(context->params(), header.params_id, what));
  const uint64_t count =
      reader.Count(sizeof(uint64_t), bulk ? context->slots() : kMaxSamplesOfFile);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    samples.labels_.push_back(reader.String(256));
    if (reader.ok() && !samples.labels_.back().empty()) {
      HEFT_RETURN_IF_ERROR(CheckIdentityAt(samples.labels_.back(), what, i));
    }
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  samples.record_ = RecordSize(*context, header.seeded);
  const uint64_t records = bulk ? header.dimension : count;
  if (reader.remaining() / samples.record_ != records ||
      reader.remaining() % samples.record_ != 0) {
    return absl::DataLossError(absl::StrCat(what, ": ", records, bulk ? " coordinates" : " samples",
                                            " declared, ", reader.remaining(),
                                            " bytes of ciphertexts"));
  }
  samples.first_ =
      static_cast<size_t>(payload.data() - bytes.data()) + payload.size() - reader.remaining();
  if (bulk) samples.all_ = HashBytes(payload.last(reader.remaining()));
  samples.context_ = std::move(context);
  samples.bytes_ = std::move(bytes);
  samples.what_ = std::move(what);
  return samples;
}

absl::Status CheckSampleKind(ByteSpan file, std::string_view what) {
  const std::string kind = EnvelopeKind(file);
  const std::string_view known = Kind(EncodingOf(kind));
  if (kind == known) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      std::string(what), ": a file of another kind: ", KindName(kind), ", not ", KindName(known)));
}

ckks::ParamsId SampleParamsId(ByteSpan bytes) {
  ckks::ParamsId id{};
  const auto file = Unsigned(bytes, "samples");
  if (!file.ok()) return id;  // the file's reader will report the reason
  bytes = *file;
  const std::string kind = EnvelopeKind(bytes);
  if (kind == Kind(EncodingOf(kind)) && bytes.size() >= kEnvelopeHeaderSize + id.size()) {
    std::copy_n(bytes.begin() + kEnvelopeHeaderSize, id.size(), id.begin());
  }
  return id;
}

absl::StatusOr<ckks::Ciphertext> SampleReader::Sample(size_t index) const {
  if (bulk()) {
    return absl::InvalidArgumentError(absl::StrCat(
        what_,
        ": encrypted for bulk enrolment, so it can only be enrolled: encrypt without --bulk"));
  }
  if (index >= size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": sample ", index, " asked for, the file has ", size()));
  }
  return Record(index);
}

absl::StatusOr<ckks::Ciphertext> SampleReader::Coordinate(size_t index) const {
  if (bulk() && index < header_.dimension) return Record(index);
  return absl::InvalidArgumentError(
      absl::StrCat(what_, ": coordinate ", index, " asked for, the file has ",
                   bulk() ? header_.dimension : 0, " ciphertexts of coordinates"));
}

Hash SampleReader::RowDigest(size_t index) const {
  ByteWriter writer;
  writer.Raw(AsBytes(header_.modality));
  if (bulk()) {
    writer.U64(index);
    writer.Raw(all_);
  } else {
    writer.Raw(ByteSpan(bytes_).subspan(first_ + index * record_, record_));
  }
  return HashBytes(writer.bytes());
}

absl::StatusOr<ckks::Ciphertext> SampleReader::Record(size_t index) const {
  ByteReader reader(ByteSpan(bytes_).subspan(first_ + index * record_, record_), what_);
  ckks::Ciphertext out;
  if (header_.seeded) {
    const ckks::SeededCiphertext seeded = ckks::ReadSeededCiphertext(reader, *context_);
    HEFT_RETURN_IF_ERROR(reader.Finish());
    out = ckks::Expand(*context_, seeded);
  } else {
    out = ckks::ReadCiphertext(reader, *context_);
    HEFT_RETURN_IF_ERROR(reader.Finish());
  }
  if (Transparent(out)) {
    return absl::DataLossError(
        absl::StrCat(what_, ": ciphertext ", index, " is not encrypted: its second part is zero"));
  }
  // The sender's own estimate must not be trusted.
  out.noise = {1, ckks::PublicKeyError(context_->params())};
  return out;
}

absl::Status CheckSamples(const Instance& instance, const Model& model, size_t index,
                          const SampleHeader& header, std::string_view what) {
  const SampleHeader expected =
      MakeSampleHeader(instance, model, index, header.key_id, false, {header.encoding, header.use});
  if (header.model_id != expected.model_id) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(what), ": projected by another model (id ", HexString(header.model_id),
        ", this model is ", HexString(expected.model_id), "): encrypt again with this model"));
  }
  if ((header.modalities & ~model.AllModalities()) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": fused of the set of modalities ", header.modalities,
                     ", but the model's set is ", model.AllModalities()));
  }
  if (header.modality == expected.modality && header.dimension == expected.dimension &&
      header.run == expected.run && header.gamma == expected.gamma) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(what), ": ", header.modality, " vectors of dimension ", header.dimension,
      " encoded for gamma ", header.gamma, ", the model takes dimension ", expected.dimension,
      " and gamma ", expected.gamma, ": encrypt them with this model"));
}

absl::StatusOr<std::vector<uint8_t>> EncryptSamples(const Instance& instance, const Model& model,
                                                    size_t index, const ckks::PublicKey& key,
                                                    std::span<const std::vector<double>> rows,
                                                    std::span<const std::string> labels,
                                                    SampleForm form) {
  HEFT_ASSIGN_OR_RETURN(const SampleEncoder encoder,
                        SampleEncoder::Create(instance, model, index, rows, labels, form));
  const ckks::Context& context = *instance.context;
  SampleWriter writer(context, MakeSampleHeader(instance, model, index, key.key_id, false, form),
                      encoder.labels());
  // In chunks, so that all threads work and few ciphertexts are in memory at a time.
  constexpr size_t kChunk = 64;
  for (size_t start = 0; start < encoder.size(); start += kChunk) {
    const size_t count = std::min(kChunk, encoder.size() - start);
    std::vector<absl::StatusOr<ckks::Ciphertext>> chunk(count, absl::UnknownError("not run"));
    std::vector<Csprng> rngs(count);  // made in order, so that tests can fix which row gets which
    ParallelFor(count, [&](size_t i) {
      const auto plain = encoder.Encode(start + i);
      if (!plain.ok()) {
        chunk[i] = plain.status();
        return;
      }
      chunk[i] = ckks::Encrypt(context, *plain, key, rngs[i]);
    });
    for (auto& encrypted : chunk) {
      HEFT_RETURN_IF_ERROR(encrypted.status());
      writer.Add(*encrypted);
    }
  }
  return writer.Finish();
}

}  // namespace heft
