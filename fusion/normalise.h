// SPDX-License-Identifier: Apache-2.0
// NormaliseCiphertext: approximate normalisation of an encrypted vector z: z f(|z|^2) for a
// quadratic or cubic f (docs/design.md, "Levels"). Constants need no level: c ((s + a)^2 + b) z and
// c ((s + a)^2 + b) ((s + d) z), with c in the scale.
#ifndef HEFT_FUSION_NORMALISE_H_
#define HEFT_FUSION_NORMALISE_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "fusion/factored.h"
#include "fusion/plan.h"

namespace heft {

struct Normalised {
  ckks::Ciphertext z;             // three limbs below the input's
  ckks::Ciphertext squared_norm;  // s, one limb below the input's
};

// SquaredNorm: |z|^2 in all slots that hold z, one limb below it. `z` has period gamma, at least
// over the slots in use; `folds` sum the squares over one period; `s_bound` is the largest expected
// squared norm, for the noise estimate.
absl::StatusOr<ckks::Ciphertext> SquaredNorm(const ckks::Context& context,
                                             const ckks::Ciphertext& z, double s_bound,
                                             std::span<const std::vector<uint32_t>> folds,
                                             const ckks::EvaluationKeys& keys);

// The factors of every coordinate of a vector with squared norm s.
struct NormFactors {
  ckks::Ciphertext quadratic;  // (s + a)^2 + b, one limb below s
  ckks::Ciphertext linear;     // s + d, for degree 3 only
};
absl::StatusOr<NormFactors> MakeNormFactors(const ckks::Context& context, const ckks::Ciphertext& s,
                                            const FactoredPolynomial& f,
                                            const ckks::EvaluationKeys& keys);

// z f(s): two limbs below s. `z` has at least as many limbs as s.
absl::StatusOr<ckks::Ciphertext> ApplyNormFactors(const ckks::Context& context,
                                                  const NormFactors& factors,
                                                  const ckks::Ciphertext& z,
                                                  const FactoredPolynomial& f,
                                                  const ckks::EvaluationKeys& keys);

// SetNormalisedNoise: the noise of `out`, a vector or coordinate normalised from `z` and `s`. The
// estimates of the operations bound each factor by its largest value, which is a hundred times too
// much.
void SetNormalisedNoise(const Instance& instance, const ckks::Ciphertext& z,
                        const ckks::Ciphertext& s, ckks::Ciphertext* out);

// z f(|z|^2), by the plan.
absl::StatusOr<Normalised> NormaliseCiphertext(const Instance& instance, const ckks::Ciphertext& z,
                                               const ckks::EvaluationKeys& keys);

}  // namespace heft

#endif  // HEFT_FUSION_NORMALISE_H_
