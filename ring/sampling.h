// SPDX-License-Identifier: Apache-2.0
// Sampling of polynomials. What is secret is sampled in constant time: the running time of a
// sampler tells nothing about the values it returns.
#ifndef HEFT_RING_SAMPLING_H_
#define HEFT_RING_SAMPLING_H_

#include <cstdint>
#include <span>

#include "base/csprng.h"
#include "ring/modulus.h"

namespace heft::ring {

// Standard deviation of the error distribution: a centred binomial of 21 + 21 bits, sqrt(21 / 2).
inline constexpr double kErrorVariance = 10.5;
// Variance of a uniform ternary coefficient.
inline constexpr double kTernaryVariance = 2.0 / 3.0;

// Uniform in {-1, 0, 1}.
void SampleTernary(std::span<int8_t> out, Csprng& rng);
// Centred binomial, |e| <= 21.
void SampleError(std::span<int8_t> out, Csprng& rng);
// Uniform in [0, q), by rejection; for public values.
void SampleUniform(std::span<uint32_t> out, const Modulus& q, Csprng& rng);
// Small signed values as residues in [0, q), without a branch on the value.
void ToResidues(std::span<uint32_t> out, std::span<const int8_t> in, const Modulus& q);

}  // namespace heft::ring

#endif  // HEFT_RING_SAMPLING_H_
