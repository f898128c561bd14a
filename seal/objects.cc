// SPDX-License-Identifier: Apache-2.0
#include "seal/objects.h"

#include <bit>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "seal/encryption.h"
#include "seal/format.h"

namespace heft::seal {
namespace {

constexpr uint64_t kMaxPrimes = 256;  // SEAL's own bound
constexpr size_t kModulusSize = kHeaderSize + sizeof(uint64_t);
constexpr size_t kParamsFieldsSize = 1 + 2 * sizeof(uint64_t);
constexpr size_t kPlaintextFieldsSize = sizeof(ParmsId) + 2 * sizeof(uint64_t);

void WriteModulus(ByteWriter& writer, uint64_t value) {
  WriteHeader(writer, kModulusSize);
  writer.U64(value);
}

absl::StatusOr<uint64_t> ReadModulus(ByteReader& reader, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan members, ReadNested(reader, what));
  ByteReader value(members, what);
  const uint64_t modulus = value.U64();
  HEFT_RETURN_IF_ERROR(value.Finish());
  return modulus;
}

absl::Status Refuse(std::string_view what, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

}  // namespace

std::vector<uint8_t> WriteParams(const ckks::Params& params, Compression compression) {
  const std::vector<uint32_t> primes = params.primes();
  ByteWriter writer;
  writer.U8(kSchemeCkks);
  writer.U64(params.n());
  writer.U64(primes.size());
  for (uint32_t q : primes) WriteModulus(writer, q);
  WriteModulus(writer, 0);
  return WrapObject(writer.bytes(), compression);
}

absl::StatusOr<ckks::Params> ReadParams(ByteSpan bytes, std::string_view what,
                                        bool allow_insecure) {
  const size_t max_size = kParamsFieldsSize + (kMaxPrimes + 1) * kModulusSize;
  HEFT_ASSIGN_OR_RETURN(const Members members, Members::Open(bytes, max_size, what));
  ByteReader reader(members.span(), what);
  const uint8_t scheme = reader.U8();
  const uint64_t n = reader.U64();
  const uint64_t count = reader.Count(kModulusSize, kMaxPrimes);
  HEFT_RETURN_IF_ERROR(reader.status());
  if (scheme != kSchemeCkks) return Refuse(what, "not of the CKKS scheme");
  std::vector<uint32_t> primes;
  for (uint64_t i = 0; i < count; ++i) {
    HEFT_ASSIGN_OR_RETURN(const uint64_t prime, ReadModulus(reader, what));
    if (std::bit_width(prime) > ring::kMaxPrimeBits) {
      return Refuse(what, absl::StrCat(prime, " has ", std::bit_width(prime),
                                       " bits, this engine takes primes of at most ",
                                       ring::kMaxPrimeBits, ": choose smaller ones in SEAL"));
    }
    primes.push_back(static_cast<uint32_t>(prime));
  }
  HEFT_ASSIGN_OR_RETURN(const uint64_t plain_modulus, ReadModulus(reader, what));
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (plain_modulus != 0) return Refuse(what, "a plain modulus, which CKKS does not have");
  if (n > UINT32_MAX) return Refuse(what, absl::StrCat("degree ", n, " is too large"));
  auto params = ckks::Params::FromPrimes(static_cast<uint32_t>(n), primes, allow_insecure);
  if (!params.ok()) return Refuse(what, std::string(params.status().message()));
  return params;
}

absl::StatusOr<std::vector<uint8_t>> WritePlaintext(const ckks::Context& context,
                                                    const ckks::Plaintext& plaintext,
                                                    Compression compression) {
  if (plaintext.extended) {
    return absl::InvalidArgumentError("SEAL has no plaintexts modulo the special prime");
  }
  const size_t count = plaintext.poly.limbs() * context.n();
  ByteWriter writer;
  writer.Raw(ParmsIdOf(context.params(), plaintext.poly.limbs()));
  writer.U64(count);
  writer.F64(plaintext.scale);
  WriteArrayHeader(writer, count);
  WriteResidues(writer, plaintext.poly);
  return WrapObject(writer.bytes(), compression);
}

absl::StatusOr<ckks::Plaintext> ReadPlaintext(const ckks::Context& context, ByteSpan bytes,
                                              std::string_view what) {
  const ckks::Params& params = context.params();
  const size_t max_size =
      kPlaintextFieldsSize + kArrayOverhead + params.limbs() * context.n() * sizeof(uint64_t);
  HEFT_ASSIGN_OR_RETURN(const Members members, Members::Open(bytes, max_size, what));
  ByteReader reader(members.span(), what);
  HEFT_ASSIGN_OR_RETURN(const size_t limbs, ReadLevel(reader, params, what));
  const uint64_t count = reader.U64();
  ckks::Plaintext out;
  out.scale = reader.F64();
  HEFT_RETURN_IF_ERROR(reader.status());
  if (limbs > params.limbs()) return Refuse(what, "a plaintext at the key level");
  const bool good_scale =
      std::isnormal(out.scale) && out.scale > 0 && std::log2(out.scale) < params.Bits(limbs);
  if (!good_scale) reader.Fail("the scale is not a positive number below the modulus");
  if (count != limbs * context.n()) {
    reader.Fail(absl::StrCat(count, " coefficients where ", limbs * context.n(), " are needed"));
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_ASSIGN_OR_RETURN(const ByteSpan array, ReadNested(reader, what));
  HEFT_RETURN_IF_ERROR(reader.Finish());
  ByteReader elements(array, what);
  if (elements.U64() != count) elements.Fail("an array of another size than the plaintext's");
  HEFT_RETURN_IF_ERROR(elements.status());
  out.poly = ReadResidues(elements, context, limbs);
  HEFT_RETURN_IF_ERROR(elements.Finish());
  out.noise = {1, ckks::EncodingError(params)};
  return out;
}

std::vector<uint8_t> WriteCiphertext(const ckks::Context& context,
                                     const ckks::Ciphertext& ciphertext, Compression compression,
                                     const SealSeed* seed) {
  ByteWriter writer;
  writer.Reserve(
      EncryptionSize(context.n(), ciphertext.size(), ciphertext.limbs(), seed != nullptr));
  WriteEncryption(writer, context, ciphertext.parts, ciphertext.scale, seed);
  return WrapObject(writer.bytes(), compression);
}

absl::StatusOr<ckks::Ciphertext> ReadCiphertext(const ckks::Context& context, ByteSpan bytes,
                                                std::string_view what,
                                                std::optional<SealSeed>* seed) {
  const ckks::Params& params = context.params();
  const size_t max_size = EncryptionSize(context.n(), 3, params.limbs(), false);
  HEFT_ASSIGN_OR_RETURN(const Members members, Members::Open(bytes, max_size, what));
  HEFT_ASSIGN_OR_RETURN(Encryption read, ReadEncryption(context, members.span(), what));
  if (read.parts[0].limbs() > params.limbs()) return Refuse(what, "a ciphertext at the key level");
  if (seed != nullptr) *seed = read.seed;
  ckks::Ciphertext out;
  out.parts = std::move(read.parts);
  out.scale = read.scale;
  out.noise = {1, ckks::PublicKeyError(params)};
  return out;
}

}  // namespace heft::seal
