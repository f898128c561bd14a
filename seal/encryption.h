// SPDX-License-Identifier: Apache-2.0
// Encryption: the members of SEAL's class Ciphertext, which are also those of a public key and of
// each digit of a switching key, at the key level.
#ifndef HEFT_SEAL_ENCRYPTION_H_
#define HEFT_SEAL_ENCRYPTION_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "ckks/context.h"
#include "ring/rns_poly.h"
#include "seal/seed.h"

namespace heft::seal {

// Encryption: what those members say.
struct Encryption {
  std::vector<ring::RnsPoly> parts;
  double scale = 1;
  std::optional<SealSeed> seed;  // that part 1 was expanded from
};

// EncryptionSize: bytes of the members with `parts` parts modulo `primes` primes, seeded ones where
// `seeded`.
size_t EncryptionSize(uint32_t n, size_t parts, size_t primes, bool seeded);

// WriteEncryption: parts alike; with a seed there are two, and the second is not written.
void WriteEncryption(ByteWriter& writer, const ckks::Context& context,
                     std::span<const ring::RnsPoly> parts, double scale, const SealSeed* seed);

// ReadEncryption: the whole of `members`. A seeded part is expanded.
absl::StatusOr<Encryption> ReadEncryption(const ckks::Context& context, ByteSpan members,
                                          std::string_view what);

}  // namespace heft::seal

#endif  // HEFT_SEAL_ENCRYPTION_H_
