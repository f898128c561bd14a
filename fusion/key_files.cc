// SPDX-License-Identifier: Apache-2.0
#include "fusion/key_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/signed_file.h"
#include "base/threads.h"
#include "ckks/serialization.h"

namespace heft {

absl::Status CheckParamsId(const ckks::Params& params, const ckks::ParamsId& id,
                           std::string_view what) {
  if (params.id() == id) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": made with other parameters than this model's profile (id ",
                   HexString(id), ", ", HexString(params.id()), " needed)"));
}

absl::Status CheckRingCount(bool two_needed, bool two_found, std::string_view what) {
  if (two_needed == two_found) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": made with other parameters than this model's profile (of ",
                   two_found ? "two rings, one" : "one ring, two", " needed)"));
}

absl::Status CheckKeyId(const ckks::KeyId& expected, const ckks::KeyId& id, std::string_view what) {
  if (expected == id) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(std::string(what),
                                                    ": made under another key (id ", HexString(id),
                                                    ", ", HexString(expected), " needed)"));
}

namespace {

// The version that a key file declares, if it is supported; otherwise the usual one, so that
// OpenEnvelope reports the error.
uint32_t VersionOf(ByteSpan bytes) {
  return EnvelopeVersion(bytes) == kFullKeyFileVersion ? kFullKeyFileVersion : kKeyFileVersion;
}

// MostKeyBytes: of a switching key with its seed, under any prime.
size_t MostKeyBytes(const ckks::Context& context) {
  const size_t limbs = context.params().limbs();
  return limbs * (limbs + 1) * context.n() * sizeof(uint32_t) + 1024;
}

// Removes the signature, if there is one. Unsigned checks the hash of the file inside.
absl::Status Unsign(std::string_view what, ByteSpan* bytes, Checksum* checksum) {
  if (!IsSigned(*bytes)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(*bytes, Unsigned(*bytes, what));
  *checksum = Checksum::kKnown;
  return absl::OkStatus();
}

// A whole file inside another one.
ByteSpan ReadFileField(ByteReader& reader) {
  return reader.Raw(reader.Count(1, uint64_t{1} << 32));
}

}  // namespace

std::vector<uint8_t> SerializeEncryptionKey(const ckks::Context& context,
                                            const ckks::PublicKey& key) {
  ByteWriter writer;
  ckks::WriteId(writer, context.params().id());
  ckks::WriteId(writer, key.key_id);
  if (key.seeded) {
    ckks::WriteSeed(writer, key.seed);
  } else {
    ckks::WritePoly(writer, context, key.a, /*extended=*/true);
  }
  ckks::WritePoly(writer, context, key.b, /*extended=*/true);
  return SealEnvelope(kEncryptionKeyKind, key.seeded ? kKeyFileVersion : kFullKeyFileVersion,
                      writer.bytes());
}

absl::StatusOr<ckks::PublicKey> ParseEncryptionKey(const ckks::Context& context, ByteSpan bytes,
                                                   std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  const uint32_t version = VersionOf(bytes);
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kEncryptionKeyKind, version, what));
  ByteReader reader(payload, what);
  const ckks::ParamsId params_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(context.params(), params_id, what));
  ckks::PublicKey key;
  key.key_id = ckks::ReadId(reader);
  key.seeded = version == kKeyFileVersion;
  if (key.seeded) {
    key.seed = ckks::ReadSeed(reader);
  } else {
    key.a = ckks::ReadPoly(reader, context, context.params().limbs(), /*extended=*/true);
  }
  key.b = ckks::ReadPoly(reader, context, context.params().limbs(), /*extended=*/true);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (!key.seeded) return key;
  key.a = ring::RnsPoly(context.n(), context.special_index() + 1);
  for (size_t i = 0; i <= context.special_index(); ++i) {
    ckks::ExpandUniform(context, key.a.limb(i), key.seed, 0, i);
  }
  return key;
}

std::vector<uint8_t> SerializeEncryptionKeys(const Rings& rings, const PublicKeys& keys) {
  const auto large = SerializeEncryptionKey(*rings.enrolment.context, keys.enrolment);
  if (!rings.thin()) return large;
  ByteWriter writer;
  ckks::WriteId(writer, rings.enrolment.params().id());
  ckks::WriteId(writer, keys.enrolment.key_id);
  const auto small = SerializeEncryptionKey(*rings.matching.context, *keys.small);
  for (const std::vector<uint8_t>* file : {&large, &small}) {
    writer.U64(file->size());
    writer.Raw(*file);
  }
  return SealEnvelope(kEncryptionKeyKind, kTwoRingsKeyFileVersion, writer.bytes());
}

absl::StatusOr<PublicKeys> ParseEncryptionKeys(const Rings& rings, ByteSpan bytes,
                                               std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  PublicKeys keys;
  const ckks::Context& large = *rings.enrolment.context;
  if (EnvelopeKind(bytes) == kEncryptionKeyKind) {
    const uint32_t version = EnvelopeVersion(bytes);
    const bool known = version >= kKeyFileVersion && version <= kTwoRingsKeyFileVersion;
    if (known) {
      HEFT_RETURN_IF_ERROR(CheckRingCount(rings.thin(), version == kTwoRingsKeyFileVersion, what));
    }
  }
  if (!rings.thin()) {
    HEFT_ASSIGN_OR_RETURN(keys.enrolment, ParseEncryptionKey(large, bytes, what));
    return keys;
  }
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kEncryptionKeyKind, kTwoRingsKeyFileVersion, what));
  ByteReader reader(payload, what);
  const ckks::ParamsId params_id = ckks::ReadId(reader);
  const ckks::KeyId key_id = ckks::ReadId(reader);
  const ByteSpan files[2] = {ReadFileField(reader), ReadFileField(reader)};
  HEFT_RETURN_IF_ERROR(reader.Finish());
  HEFT_RETURN_IF_ERROR(CheckParamsId(large.params(), params_id, what));
  HEFT_ASSIGN_OR_RETURN(keys.enrolment, ParseEncryptionKey(large, files[0], what));
  HEFT_ASSIGN_OR_RETURN(keys.small, ParseEncryptionKey(*rings.matching.context, files[1], what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id, keys.enrolment.key_id, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id, keys.small->key_id, what));
  return keys;
}

std::vector<uint8_t> SerializeEnrolmentKeys(const Rings& rings, const ckks::KeyId& key_id,
                                            ByteSpan evaluation,
                                            const ckks::SeededSwitchKey& ring_switch) {
  ByteWriter writer;
  writer.Reserve(evaluation.size() + MostKeyBytes(*rings.switching) + 1024);
  const size_t start = BeginEnvelope(kEnrolmentKeysKind, kKeyFileVersion, &writer);
  ckks::WriteId(writer, rings.enrolment.params().id());
  ckks::WriteId(writer, key_id);
  ckks::WriteSwitchKey(writer, *rings.switching, ring_switch);
  writer.U64(evaluation.size());
  writer.Raw(evaluation);
  EndEnvelope(start, &writer);
  return writer.Take();
}

absl::Status ParseEnrolmentKeys(const Rings& rings, ByteSpan bytes, std::string_view what,
                                RingKeys* keys, Checksum checksum) {
  if (!rings.thin()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), ": this model's profile has no enrolment keys"));
  }
  HEFT_RETURN_IF_ERROR(Unsign(what, &bytes, &checksum));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kEnrolmentKeysKind, kKeyFileVersion, what, checksum));
  ByteReader reader(payload, what);
  const ckks::ParamsId params_id = ckks::ReadId(reader);
  const ckks::KeyId key_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(rings.enrolment.params(), params_id, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(keys->matching.key_id, key_id, what));
  const ckks::SeededSwitchKey ring_switch = ckks::ReadSwitchKey(reader, *rings.switching);
  if (reader.ok() && ring_switch.limbs < TemplateLimbs(rings.enrolment.params())) {
    reader.Fail("a ring switch cut short");
  }
  const ByteSpan evaluation = ReadFileField(reader);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  HEFT_ASSIGN_OR_RETURN(keys->enrolment, ParseEvaluationKeys(*rings.enrolment.context, evaluation,
                                                             what, Checksum::kKnown));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id, keys->enrolment.key_id, what));
  keys->ring_switch = ckks::SwitchKey(*rings.switching, ring_switch, 1);
  return absl::OkStatus();
}

EvaluationKeysWriter::EvaluationKeysWriter(const ckks::Context& context, const ckks::KeyId& key_id,
                                           size_t keys)
    : context_(context) {
  // Growth would copy all keys before. Room that is not written takes no memory.
  writer_.Reserve(keys * MostKeyBytes(context) + 1024);
  BeginEnvelope(kEvaluationKeysKind, kKeyFileVersion, &writer_);
  ckks::WriteId(writer_, context.params().id());
  ckks::WriteId(writer_, key_id);
  writer_.U64(keys);
}

void EvaluationKeysWriter::Add(uint32_t element, const ckks::SeededSwitchKey& key) {
  writer_.U32(element);
  ckks::WriteSwitchKey(writer_, context_, key);
}

std::vector<uint8_t> EvaluationKeysWriter::Finish() {
  EndEnvelope(0, &writer_);
  return writer_.Take();
}

std::vector<uint8_t> SerializeFullEvaluationKeys(
    const ckks::Context& context, const ckks::KeyId& key_id,
    const std::map<uint32_t, ckks::FullSwitchKey>& keys) {
  ByteWriter writer;
  ckks::WriteId(writer, context.params().id());
  ckks::WriteId(writer, key_id);
  writer.U64(keys.size());
  for (const auto& [element, key] : keys) {
    writer.U32(element);
    ckks::WriteFullSwitchKey(writer, context, key);
  }
  return SealEnvelope(kEvaluationKeysKind, kFullKeyFileVersion, writer.bytes());
}

absl::StatusOr<ckks::EvaluationKeys> ParseEvaluationKeys(const ckks::Context& context,
                                                         ByteSpan bytes, std::string_view what,
                                                         Checksum checksum) {
  HEFT_RETURN_IF_ERROR(Unsign(what, &bytes, &checksum));
  const uint32_t version = VersionOf(bytes);
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kEvaluationKeysKind, version, what, checksum));
  ByteReader reader(payload, what);
  const ckks::ParamsId params_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(context.params(), params_id, what));
  ckks::EvaluationKeys keys;
  keys.key_id = ckks::ReadId(reader);
  const uint64_t count = reader.Count(sizeof(uint32_t), 4096);
  const bool full = version == kFullKeyFileVersion;
  std::vector<uint32_t> elements;
  std::vector<ByteSpan> stored;
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    elements.push_back(reader.U32());
    if (elements.back() % 2 == 0 || elements.back() >= 2 * context.n()) {
      reader.Fail(absl::StrCat(elements.back(), " is not a Galois element"));
    }
    if (std::count(elements.begin(), elements.end(), elements.back()) > 1) {
      reader.Fail(absl::StrCat("two keys of Galois element ", elements.back()));
    }
    stored.push_back(ckks::SwitchKeyBytes(reader, context, full));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  // One after another in each thread, so that the next key is read into the memory of the last.
  std::vector<ckks::SwitchKey> expanded(elements.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(elements.size(), [&](size_t i) -> absl::Status {
    ByteReader one(stored[i], what);
    if (full) {
      const ckks::FullSwitchKey key = ckks::ReadFullSwitchKey(one, context);
      HEFT_RETURN_IF_ERROR(one.Finish());
      expanded[i] = ckks::SwitchKey(context, key.b, key.a, elements[i]);
    } else {
      const ckks::SeededSwitchKey key = ckks::ReadSwitchKey(one, context);
      HEFT_RETURN_IF_ERROR(one.Finish());
      expanded[i] = ckks::SwitchKey(context, key, elements[i]);
    }
    return absl::OkStatus();
  }));
  for (size_t i = 0; i < expanded.size(); ++i) {
    ckks::SwitchKey& target = elements[i] == 1 ? keys.relinearisation : keys.galois[elements[i]];
    target = std::move(expanded[i]);
  }
  return keys;
}

}  // namespace heft
