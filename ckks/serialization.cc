// SPDX-License-Identifier: Apache-2.0
#include "ckks/serialization.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/packed_bits.h"

namespace heft::ckks {
namespace {

size_t ReadLimbs(ByteReader& reader, const Context& context) {
  const uint32_t limbs = reader.U32();
  if (reader.ok() && (limbs < 1 || limbs > context.params().limbs())) {
    reader.Fail(absl::StrCat(limbs, " limbs, 1 to ", context.params().limbs(), " expected"));
    return 0;
  }
  return limbs;
}

const ring::Modulus& LimbModulus(const Context& context, size_t limb, size_t limbs, bool extended) {
  return context.modulus(extended && limb + 1 == limbs ? context.special_index() : limb);
}

size_t LimbSize(size_t n, const ring::Modulus& q) { return PackedSize(n, q.bits()); }

}  // namespace

void WriteScaleAndNoise(ByteWriter& writer, double scale, const Noise& noise) {
  writer.F64(scale);
  writer.F64(noise.message);
  writer.F64(noise.error);
}

void ReadScaleAndNoise(ByteReader& reader, double* scale, Noise* noise) {
  *scale = reader.F64();
  noise->message = reader.F64();
  noise->error = reader.F64();
  if (!reader.ok()) return;
  const bool good = std::isfinite(*scale) && *scale > 0 && std::isfinite(noise->message) &&
                    noise->message >= 0 && std::isfinite(noise->error) && noise->error >= 0;
  if (!good) reader.Fail("scale or noise estimate is not a positive number");
}

void WriteId(ByteWriter& writer, const std::array<uint8_t, 16>& id) { writer.Raw(id); }

std::array<uint8_t, 16> ReadId(ByteReader& reader) {
  std::array<uint8_t, 16> id{};
  const ByteSpan raw = reader.Raw(id.size());
  std::copy(raw.begin(), raw.end(), id.begin());
  return id;
}

void WriteSeed(ByteWriter& writer, const Seed& seed) { writer.Raw(seed); }

Seed ReadSeed(ByteReader& reader) {
  Seed seed{};
  const ByteSpan raw = reader.Raw(seed.size());
  std::copy(raw.begin(), raw.end(), seed.begin());
  return seed;
}

void WriteParams(ByteWriter& writer, const Params& params) {
  const std::vector<uint32_t> primes = params.primes();
  writer.U32(params.n());
  writer.U64(primes.size());
  writer.U32Array(primes);
}

absl::StatusOr<Params> ReadParams(ByteReader& reader, bool allow_insecure) {
  const uint32_t n = reader.U32();
  std::vector<uint32_t> primes(reader.Count(sizeof(uint32_t), 64));
  reader.U32Array(primes);
  HEFT_RETURN_IF_ERROR(reader.status());
  return Params::FromPrimes(n, primes, allow_insecure);
}

void WritePoly(ByteWriter& writer, const Context& context, const ring::RnsPoly& poly,
               bool extended) {
  std::vector<uint8_t> packed;
  for (size_t l = 0; l < poly.limbs(); ++l) {
    const ring::Modulus& q = LimbModulus(context, l, poly.limbs(), extended);
    packed.resize(LimbSize(poly.n(), q));
    PackBits(poly.limb(l), q.bits(), packed);
    writer.Raw(packed);
  }
}

ring::RnsPoly ReadPoly(ByteReader& reader, const Context& context, size_t limbs, bool extended) {
  const size_t n = context.n();
  const size_t all = limbs + (extended ? 1 : 0);
  size_t size = 0;
  for (size_t l = 0; l < all; ++l) size += LimbSize(n, LimbModulus(context, l, all, extended));
  if (!reader.ok() || reader.remaining() < size) {
    reader.Fail("truncated: a polynomial is cut short");
    return {};
  }
  ring::RnsPoly poly(n, all);
  for (size_t l = 0; l < all; ++l) {
    const ring::Modulus& q = LimbModulus(context, l, all, extended);
    UnpackBits(reader.Raw(LimbSize(n, q)), q.bits(), poly.limb(l));
    bool reduced = true;
    for (uint32_t value : poly.limb(l)) reduced &= value < q.value();
    if (!reduced) {
      reader.Fail(absl::StrCat("a residue is not below its prime, limb ", l));
      return {};
    }
  }
  return poly;
}

namespace {

// Limbs, scale and noise, and one polynomial.
constexpr size_t kHeaderSize = sizeof(uint32_t) + 3 * sizeof(double);

size_t PolySize(const Context& context, size_t limbs) {
  size_t size = 0;
  for (size_t l = 0; l < limbs; ++l) size += LimbSize(context.n(), context.modulus(l));
  return size;
}

}  // namespace

size_t CiphertextSize(const Context& context, size_t parts, size_t limbs) {
  return sizeof(uint32_t) + kHeaderSize + parts * PolySize(context, limbs);
}

size_t SeededCiphertextSize(const Context& context, size_t limbs) {
  return kHeaderSize + sizeof(Seed) + PolySize(context, limbs);
}

void WriteCiphertext(ByteWriter& writer, const Context& context, const Ciphertext& ciphertext) {
  writer.U32(static_cast<uint32_t>(ciphertext.size()));
  writer.U32(static_cast<uint32_t>(ciphertext.limbs()));
  WriteScaleAndNoise(writer, ciphertext.scale, ciphertext.noise);
  for (const ring::RnsPoly& part : ciphertext.parts) WritePoly(writer, context, part, false);
}

Ciphertext ReadCiphertext(ByteReader& reader, const Context& context) {
  Ciphertext out;
  const uint32_t parts = reader.U32();
  if (reader.ok() && (parts < 2 || parts > 3))
    reader.Fail(absl::StrCat(parts, " parts, not 2 or 3"));
  const size_t limbs = ReadLimbs(reader, context);
  ReadScaleAndNoise(reader, &out.scale, &out.noise);
  for (uint32_t p = 0; p < parts && reader.ok(); ++p) {
    out.parts.push_back(ReadPoly(reader, context, limbs, false));
  }
  return out;
}

void WriteSeededCiphertext(ByteWriter& writer, const Context& context,
                           const SeededCiphertext& ciphertext) {
  writer.U32(static_cast<uint32_t>(ciphertext.c0.limbs()));
  WriteScaleAndNoise(writer, ciphertext.scale, ciphertext.noise);
  WriteSeed(writer, ciphertext.seed);
  WritePoly(writer, context, ciphertext.c0, false);
}

SeededCiphertext ReadSeededCiphertext(ByteReader& reader, const Context& context) {
  SeededCiphertext out;
  const size_t limbs = ReadLimbs(reader, context);
  ReadScaleAndNoise(reader, &out.scale, &out.noise);
  out.seed = ReadSeed(reader);
  if (reader.ok()) out.c0 = ReadPoly(reader, context, limbs, false);
  return out;
}

void WriteSwitchKey(ByteWriter& writer, const Context& context, const SeededSwitchKey& key) {
  writer.U32(static_cast<uint32_t>(key.limbs));
  WriteSeed(writer, key.seed);
  for (const ring::RnsPoly& digit : key.b) WritePoly(writer, context, digit, true);
}

SeededSwitchKey ReadSwitchKey(ByteReader& reader, const Context& context) {
  SeededSwitchKey key;
  key.limbs = ReadLimbs(reader, context);
  key.seed = ReadSeed(reader);
  for (size_t digit = 0; digit < key.limbs && reader.ok(); ++digit) {
    key.b.push_back(ReadPoly(reader, context, key.limbs, true));
  }
  return key;
}

ByteSpan SwitchKeyBytes(ByteReader& reader, const Context& context, bool full) {
  const size_t limbs = ReadLimbs(reader, context);
  const size_t poly =
      PolySize(context, limbs) + LimbSize(context.n(), context.modulus(context.special_index()));
  const size_t size = full ? 2 * limbs * poly : sizeof(Seed) + limbs * poly;
  if (!reader.ok() || reader.remaining() < size) {
    reader.Fail("truncated: a key is cut short");
    return {};
  }
  const ByteSpan rest = reader.Raw(size);
  return {rest.data() - sizeof(uint32_t), rest.size() + sizeof(uint32_t)};
}

void WriteFullSwitchKey(ByteWriter& writer, const Context& context, const FullSwitchKey& key) {
  writer.U32(static_cast<uint32_t>(key.limbs()));
  for (size_t digit = 0; digit < key.limbs(); ++digit) {
    WritePoly(writer, context, key.b[digit], true);
    WritePoly(writer, context, key.a[digit], true);
  }
}

FullSwitchKey ReadFullSwitchKey(ByteReader& reader, const Context& context) {
  FullSwitchKey key;
  const size_t limbs = ReadLimbs(reader, context);
  for (size_t digit = 0; digit < limbs && reader.ok(); ++digit) {
    key.b.push_back(ReadPoly(reader, context, limbs, true));
    key.a.push_back(ReadPoly(reader, context, limbs, true));
  }
  return key;
}

}  // namespace heft::ckks
