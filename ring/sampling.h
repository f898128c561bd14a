// SPDX-License-Identifier: Apache-2.0
// Sampling of polynomials. Secret values are sampled in constant time: the running time of a
// sampler is independent of the values it returns.
#ifndef HEFT_RING_SAMPLING_H_
#define HEFT_RING_SAMPLING_H_

#include <cstdint>
#include <span>

#include "base/csprng.h"
#include "ring/modulus.h"

namespace heft::ring {

// kErrorVariance: of the error distribution, a centred binomial of 21 + 21 bits with standard
// deviation sqrt(21 / 2).
inline constexpr double kErrorVariance = 10.5;
// kTernaryVariance: of a uniform ternary coefficient.
inline constexpr double kTernaryVariance = 2.0 / 3.0;

// SampleTernary: uniform in {-1, 0, 1}.
void SampleTernary(std::span<int8_t> out, Csprng& rng);
// SampleError: centred binomial of 21 + 21 bits, |e| <= 21.
void SampleError(std::span<int8_t> out, Csprng& rng);
// SampleUniform: uniform in [0, q), by rejection; for public values.
void SampleUniform(std::span<uint32_t> out, const Modulus& q, Csprng& rng);
// ToResidues: residues in [0, q) of values |v| < q, without a branch on the value.
void ToResidues(std::span<uint32_t> out, std::span<const int8_t> in, const Modulus& q);

}  // namespace heft::ring

#endif  // HEFT_RING_SAMPLING_H_
