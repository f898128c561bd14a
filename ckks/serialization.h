// SPDX-License-Identifier: Apache-2.0
// WriteCiphertext and the like: fields of CKKS objects inside larger formats (docs/formats.md).
// Readers check every size against the context before allocating and every residue against its
// prime.
#ifndef HEFT_CKKS_SERIALIZATION_H_
#define HEFT_CKKS_SERIALIZATION_H_

#include "base/bytes.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "ckks/seeded.h"

namespace heft::ckks {

void WriteParams(ByteWriter& writer, const Params& params);
// ReadParams: refuses insecure sets unless `allow_insecure`.
absl::StatusOr<Params> ReadParams(ByteReader& reader, bool allow_insecure = false);

// WritePoly, ReadPoly: a polynomial's residues, without its size. Limbs are modulo the first
// primes; with `extended` the last one is modulo the special prime. Each limb is packed, with as
// many bits for a residue as its prime has, the lowest first. Errors of reading are in the reader.
void WritePoly(ByteWriter& writer, const Context& context, const ring::RnsPoly& poly,
               bool extended);
ring::RnsPoly ReadPoly(ByteReader& reader, const Context& context, size_t limbs, bool extended);

// CiphertextSize, SeededCiphertextSize: bytes of WriteCiphertext and WriteSeededCiphertext.
size_t CiphertextSize(const Context& context, size_t parts, size_t limbs);
size_t SeededCiphertextSize(const Context& context, size_t limbs);
// WriteCiphertext, WriteSeededCiphertext: parts, limbs, scale, noise estimate, residues.
void WriteCiphertext(ByteWriter& writer, const Context& context, const Ciphertext& ciphertext);
Ciphertext ReadCiphertext(ByteReader& reader, const Context& context);
void WriteSeededCiphertext(ByteWriter& writer, const Context& context,
                           const SeededCiphertext& ciphertext);
SeededCiphertext ReadSeededCiphertext(ByteReader& reader, const Context& context);

// WriteScaleAndNoise, ReadScaleAndNoise: the scale and both numbers of the estimate.
void WriteScaleAndNoise(ByteWriter& writer, double scale, const Noise& noise);
void ReadScaleAndNoise(ByteReader& reader, double* scale, Noise* noise);

// WriteSwitchKey, WriteFullSwitchKey: limbs, then the digits, with a seed or both parts of each.
void WriteSwitchKey(ByteWriter& writer, const Context& context, const SeededSwitchKey& key);
SeededSwitchKey ReadSwitchKey(ByteReader& reader, const Context& context);
// SwitchKeyBytes: skips a SeededSwitchKey, or a FullSwitchKey if `full`, for reading it later.
ByteSpan SwitchKeyBytes(ByteReader& reader, const Context& context, bool full);
void WriteFullSwitchKey(ByteWriter& writer, const Context& context, const FullSwitchKey& key);
FullSwitchKey ReadFullSwitchKey(ByteReader& reader, const Context& context);

// WriteId, WriteSeed: the bytes themselves.
void WriteId(ByteWriter& writer, const std::array<uint8_t, 16>& id);
std::array<uint8_t, 16> ReadId(ByteReader& reader);
void WriteSeed(ByteWriter& writer, const Seed& seed);
Seed ReadSeed(ByteReader& reader);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SERIALIZATION_H_
