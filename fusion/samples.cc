// SPDX-License-Identifier: Apache-2.0
#include "fusion/samples.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/threads.h"
#include "ckks/encryptor.h"
#include "ckks/serialization.h"
#include "fusion/compact.h"
#include "fusion/key_files.h"

namespace heft {
namespace {

constexpr std::string_view kKind = "CTXT";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxSamples = 1 << 24;

// Bytes of one record: fixed by context and form.
size_t RecordSize(const ckks::Context& context, bool seeded) {
  ByteWriter writer;
  const size_t limbs = context.params().limbs();
  if (seeded) {
    ckks::SeededCiphertext c;
    c.c0 = ring::RnsPoly(context.n(), limbs);
    ckks::WriteSeededCiphertext(writer, context, c);
  } else {
    ckks::Ciphertext c;
    c.parts = {ring::RnsPoly(context.n(), limbs), ring::RnsPoly(context.n(), limbs)};
    ckks::WriteCiphertext(writer, context, c);
  }
  return writer.bytes().size();
}

}  // namespace

absl::Status CheckIdentity(std::string_view identity) {
  const bool clean = std::none_of(identity.begin(), identity.end(),
                                  [](unsigned char c) { return c < 32 || c == 127; });
  if (clean && !identity.empty() && identity.size() <= 255) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "an identity must have 1 to 255 bytes and no control characters");
}

SampleHeader MakeSampleHeader(const Instance& instance, const Model& model, size_t index,
                              const ckks::KeyId& key_id, bool seeded) {
  SampleHeader header;
  header.params_id = instance.params().id();
  header.key_id = key_id;
  header.modality = model.modalities[index].name;
  header.dimension = model.modalities[index].dimension;
  header.run = instance.plan.pairs[index / 2].run;
  header.gamma = model.gamma;
  header.seeded = seeded;
  return header;
}

SampleWriter::SampleWriter(const ckks::Context& context, const SampleHeader& header,
                           std::span<const std::string> labels)
    : context_(context) {
  ckks::WriteId(writer_, header.params_id);
  ckks::WriteId(writer_, header.key_id);
  writer_.String(header.modality);
  writer_.U32(header.dimension);
  writer_.U32(header.run);
  writer_.U32(header.gamma);
  writer_.U8(header.seeded ? 1 : 0);
  writer_.U64(labels.size());
  for (const std::string& label : labels) writer_.String(label);
}

void SampleWriter::Add(const ckks::Ciphertext& sample) {
  ckks::WriteCiphertext(writer_, context_, sample);
}

void SampleWriter::Add(const ckks::SeededCiphertext& sample) {
  ckks::WriteSeededCiphertext(writer_, context_, sample);
}

std::vector<uint8_t> SampleWriter::Finish() {
  return SealEnvelope(kKind, kVersion, writer_.bytes());
}

absl::StatusOr<SampleReader> SampleReader::Parse(std::shared_ptr<const ckks::Context> context,
                                                 std::vector<uint8_t> bytes, std::string what) {
  SampleReader samples;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kKind, kVersion, what));
  ByteReader reader(payload, what);
  SampleHeader& header = samples.header_;
  header.params_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(context->params(), header.params_id, what));
  header.key_id = ckks::ReadId(reader);
  header.modality = reader.String(64);
  header.dimension = reader.U32();
  header.run = reader.U32();
  header.gamma = reader.U32();
  const uint8_t form = reader.U8();
  if (form > 1) reader.Fail(absl::StrCat("unknown form ", form));
  header.seeded = form == 1;
  const uint64_t count = reader.Count(sizeof(uint64_t), kMaxSamples);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    samples.labels_.push_back(reader.String(256));
    if (reader.ok() && !samples.labels_.back().empty()) {
      HEFT_RETURN_IF_ERROR(CheckIdentity(samples.labels_.back()));
    }
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  samples.record_ = RecordSize(*context, header.seeded);
  if (reader.remaining() / samples.record_ != count || reader.remaining() % samples.record_ != 0) {
    return absl::DataLossError(absl::StrCat(what, ": ", count, " samples declared, ",
                                            reader.remaining(), " bytes of ciphertexts"));
  }
  samples.first_ = kEnvelopeHeaderSize + payload.size() - reader.remaining();
  samples.context_ = std::move(context);
  samples.bytes_ = std::move(bytes);
  samples.what_ = std::move(what);
  return samples;
}

absl::StatusOr<ckks::Ciphertext> SampleReader::Sample(size_t index) const {
  if (index >= size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": sample ", index, " asked for, the file has ", size()));
  }
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
  // The sender's own estimate is not to be trusted.
  out.noise = {1, ckks::PublicKeyError(context_->params())};
  return out;
}

absl::Status CheckSamples(const Instance& instance, const Model& model, size_t index,
                          const SampleHeader& header, std::string_view what) {
  const SampleHeader expected = MakeSampleHeader(instance, model, index, header.key_id, false);
  if (header.modality == expected.modality && header.dimension == expected.dimension && header.run == expected.run &&
      header.gamma == expected.gamma) {
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
                                                    std::span<const std::string> labels) {
  if (rows.empty()) return absl::InvalidArgumentError("no vectors to encrypt");
  if (!labels.empty() && labels.size() != rows.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " labels for ", rows.size(), " vectors"));
  }
  for (const std::string& label : labels) HEFT_RETURN_IF_ERROR(CheckIdentity(label));
  const ckks::Context& context = *instance.context;
  std::vector<std::string> names(labels.begin(), labels.end());
  names.resize(rows.size());
  SampleWriter writer(context, MakeSampleHeader(instance, model, index, key.key_id, false), names);
  // In chunks: all threads work, and few ciphertexts are held at a time.
  constexpr size_t kChunk = 64;
  for (size_t start = 0; start < rows.size(); start += kChunk) {
    const size_t count = std::min(kChunk, rows.size() - start);
    std::vector<absl::StatusOr<ckks::Ciphertext>> chunk(count, absl::UnknownError("not run"));
    ParallelFor(count, [&](size_t i) {
      auto plain = EncodeCompact(instance, model, index, rows[start + i]);
      if (!plain.ok()) {
        chunk[i] = absl::Status(
            plain.status().code(),
            absl::StrCat("row ", start + i, ": ", std::string(plain.status().message())));
        return;
      }
      Csprng rng;
      chunk[i] = ckks::Encrypt(context, *plain, key, rng);
    });
    for (auto& encrypted : chunk) {
      HEFT_RETURN_IF_ERROR(encrypted.status());
      writer.Add(*encrypted);
    }
  }
  return writer.Finish();
}

}  // namespace heft
