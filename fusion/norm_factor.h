// SPDX-License-Identifier: Apache-2.0
// NormFactor: the secret factor sigma of a proof of a norm (fusion/norm_proof.h), and how often a
// vector that wraps around passes such a proof (docs/security-proofs.md, "The proof of a norm").
//
// A squared norm whose real part has wrapped k times and whose imaginary part m times passes only
// if k / (1 - sigma^2) and m / (sigma sqrt 2) nearly agree. For each pair (k, m) that holds in one
// short window of sigma. The windows of few wraps are the widest, so no factor is drawn from those
// of up to kSafeWraps wraps: such a vector never passes.
#ifndef HEFT_FUSION_NORM_FACTOR_H_
#define HEFT_FUSION_NORM_FACTOR_H_

#include <cstdint>
#include <vector>

#include "base/csprng.h"

namespace heft {

// sigma's range. Below it, 2 sigma |z|^2 would lose precision; above it, both multiples could be
// equal.
inline constexpr double kLeastNormFactor = 0.25;
inline constexpr double kLargestNormFactor = 0.40;
// kSafeWraps: more make the windows take up the range, fewer leave wide ones.
inline constexpr uint32_t kSafeWraps = 32;

double DrawNormFactor(Csprng& rng);
// NormFactorOf: the same from 32 random bits. Uniform over the permitted parts of the range.
double NormFactorOf(uint32_t bits);

// NormFactorSpan: a permitted part of the range.
struct NormFactorSpan {
  double lo = 0, hi = 0;
  double width() const { return hi - lo; }
};
// NormFactorSpans: all of them, rising.
const std::vector<NormFactorSpan>& NormFactorSpans();

// WrappedProof: of squared norms that wrap at `range` and are accepted up to `longest`, with both
// multiples agreeing within `tolerance` |z|.
struct WrappedProof {
  double range = 0, longest = 0, tolerance = 0;
};
// WrapsPass: the largest probability, over all squared norms of `least` to `most` times the range,
// that a vector that wraps passes one proof. Takes about `most`^2 steps.
double WrapsPass(const WrappedProof& proof, double most);

}  // namespace heft

#endif  // HEFT_FUSION_NORM_FACTOR_H_
