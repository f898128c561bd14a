// SPDX-License-Identifier: Apache-2.0
#include "seal/encryption.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "seal/format.h"

namespace heft::seal {
namespace {

// kFieldsSize: parms_id, is_ntt_form, size, degree, primes, scale, correction factor.
constexpr size_t kFieldsSize = sizeof(ParmsId) + 1 + 5 * sizeof(uint64_t);
constexpr size_t kSeedSize = 1 + sizeof(SealSeed::bytes);
constexpr uint64_t kMaxParts = 3;

absl::Status Bad(std::string_view what, std::string_view why) {
  return absl::DataLossError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

void WriteSeed(ByteWriter& writer, const SealSeed& seed) {
  WriteHeader(writer, kHeaderSize + kSeedSize);
  writer.U8(static_cast<uint8_t>(seed.kind));
  writer.Raw(seed.bytes);
}

absl::StatusOr<SealSeed> ReadSeed(ByteReader& reader, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan members, ReadNested(reader, what));
  ByteReader fields(members, what);
  const uint8_t kind = fields.U8();
  const ByteSpan bytes = fields.Raw(sizeof(SealSeed::bytes));
  HEFT_RETURN_IF_ERROR(fields.Finish());
  SealSeed seed;
  if (kind != static_cast<uint8_t>(SeedKind::kBlake2xb) &&
      kind != static_cast<uint8_t>(SeedKind::kShake256)) {
    return Bad(what, absl::StrCat("a seed for an unknown generator, ", kind));
  }
  seed.kind = static_cast<SeedKind>(kind);
  std::copy(bytes.begin(), bytes.end(), seed.bytes.begin());
  return seed;
}

struct Fields {
  size_t primes = 0;
  uint8_t ntt = 0;
  uint64_t size = 0;
  double scale = 0;
};

absl::StatusOr<Fields> ReadFields(const ckks::Context& context, ByteReader& reader,
                                  std::string_view what) {
  Fields fields;
  HEFT_ASSIGN_OR_RETURN(fields.primes, ReadLevel(reader, context.params(), what));
  fields.ntt = reader.U8();
  fields.size = reader.U64();
  const uint64_t n = reader.U64();
  const uint64_t primes = reader.U64();
  fields.scale = reader.F64();
  const uint64_t correction = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.status());
  if (n != context.n() || primes != fields.primes) {
    return Bad(what, "degree or number of primes do not agree with the parms_id");
  }
  if (fields.ntt != 1) return Bad(what, "not in NTT form, as CKKS ciphertexts are");
  if (correction != 1) return Bad(what, "a correction factor other than 1");
  const double bits = context.params().Bits(fields.primes);
  if (!std::isnormal(fields.scale) || fields.scale < 0 || std::log2(fields.scale) >= bits) {
    return Bad(what, absl::StrCat("the scale is not a positive number below the modulus of ", bits,
                                  " bits"));
  }
  if (fields.size < 2 || fields.size > kMaxParts) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), ": ", fields.size,
                     " parts, 2 or 3 are taken: relinearise it in SEAL first"));
  }
  return fields;
}

}  // namespace

size_t EncryptionSize(uint32_t n, size_t parts, size_t primes, bool seeded) {
  const size_t stored = seeded ? 1 : parts;
  return kFieldsSize + kArrayOverhead + stored * primes * n * sizeof(uint64_t) +
         (seeded ? kHeaderSize + kSeedSize : 0);
}

void WriteEncryption(ByteWriter& writer, const ckks::Context& context,
                     std::span<const ring::RnsPoly> parts, double scale, const SealSeed* seed) {
  const size_t primes = parts[0].limbs();
  writer.Raw(ParmsIdOf(context.params(), primes));
  writer.U8(1);
  writer.U64(parts.size());
  writer.U64(context.n());
  writer.U64(primes);
  writer.F64(scale);
  writer.U64(1);
  const std::span<const ring::RnsPoly> stored = seed == nullptr ? parts : parts.first(1);
  WriteArrayHeader(writer, stored.size() * primes * context.n());
  for (const ring::RnsPoly& part : stored) WriteResidues(writer, part);
  if (seed != nullptr) WriteSeed(writer, *seed);
}

absl::StatusOr<Encryption> ReadEncryption(const ckks::Context& context, ByteSpan members,
                                          std::string_view what) {
  ByteReader reader(members, what);
  HEFT_ASSIGN_OR_RETURN(const Fields fields, ReadFields(context, reader, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan array, ReadNested(reader, what));
  ByteReader elements(array, what);
  const uint64_t count = elements.U64();
  HEFT_RETURN_IF_ERROR(elements.status());
  const uint64_t poly = uint64_t{fields.primes} * context.n();
  const bool seeded = fields.size == 2 && count == poly;
  if (!seeded && count != fields.size * poly) {
    return Bad(what, absl::StrCat(count, " residues where ", fields.size * poly, " are needed"));
  }
  Encryption out;
  out.scale = fields.scale;
  for (uint64_t p = 0; p < (seeded ? 1 : fields.size) && elements.ok(); ++p) {
    out.parts.push_back(ReadResidues(elements, context, fields.primes));
  }
  HEFT_RETURN_IF_ERROR(elements.Finish());
  if (seeded) {
    HEFT_ASSIGN_OR_RETURN(out.seed, ReadSeed(reader, what));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (seeded) out.parts.push_back(ExpandSeed(context, *out.seed, fields.primes));
  return out;
}

}  // namespace heft::seal
