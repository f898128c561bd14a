// SPDX-License-Identifier: Apache-2.0
// SealSeed: the uniform half of an encryption is stored as 64 bytes. The stream is blocks of 4096
// bytes; block c is computed from the seed and the counter c, by BLAKE2Xb or SHAKE256
// (docs/seal.md).
#ifndef HEFT_SEAL_ENCRYPTION_H_
#define HEFT_SEAL_ENCRYPTION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "ckks/context.h"
#include "ring/rns_poly.h"

namespace heft::seal {

// SeedKind: SEAL's generators, with SEAL's numbers.
enum class SeedKind : uint8_t { kBlake2xb = 1, kShake256 = 2 };

// SealSeed: a seed and its generator.
struct SealSeed {
  SeedKind kind = SeedKind::kBlake2xb;
  std::array<uint8_t, 64> bytes{};
  bool operator==(const SealSeed&) const = default;
};

// SeedBlock: block `counter` of the stream.
std::array<uint8_t, 4096> SeedBlock(const SealSeed& seed, uint64_t counter);

// ExpandSeed: the uniform polynomial that SEAL expands from the seed, NTT values in [0, q) modulo
// the first `primes` primes (including the special one if `primes` counts all).
ring::RnsPoly ExpandSeed(const ckks::Context& context, const SealSeed& seed, size_t primes);

// Encryption: the members of SEAL's class Ciphertext. A public key and each digit of a switching
// key have the same members, at the key level.

// Encryption: the content of those members.
struct Encryption {
  std::vector<ring::RnsPoly> parts;
  double scale = 1;
  std::optional<SealSeed> seed;  // that part 1 was expanded from
};

// EncryptionSize: bytes of the members with `parts` parts modulo `primes` primes.
size_t EncryptionSize(uint32_t n, size_t parts, size_t primes, bool seeded);

// WriteEncryption: parts of equal size. With a seed there are two, and the second is not written.
void WriteEncryption(ByteWriter& writer, const ckks::Context& context,
                     std::span<const ring::RnsPoly> parts, double scale, const SealSeed* seed);

// ReadEncryption: reads all of `members`, and expands a seeded part.
absl::StatusOr<Encryption> ReadEncryption(const ckks::Context& context, ByteSpan members,
                                          std::string_view what);

}  // namespace heft::seal

#endif  // HEFT_SEAL_ENCRYPTION_H_
