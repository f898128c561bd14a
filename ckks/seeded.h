// SPDX-License-Identifier: Apache-2.0
// SeededCiphertext: a fresh secret-key encryption with its uniform part as a seed: half the bytes.
#ifndef HEFT_CKKS_SEEDED_H_
#define HEFT_CKKS_SEEDED_H_

#include "base/csprng.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::ckks {

// SeededCiphertext: part 0, and the seed of part 1.
struct SeededCiphertext {
  ring::RnsPoly c0;
  Seed seed{};
  double scale = 1;
  Noise noise;
};

// Expand: both parts; c1 is expanded from the seed, modulo each of c0's primes.
Ciphertext Expand(const Context& context, const SeededCiphertext& seeded);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SEEDED_H_
