// SPDX-License-Identifier: Apache-2.0
// The paper's fits: compositions of polynomials, and its published quadratic. heft/train.h has
// single polynomials.
#ifndef HEFT_INVERSE_SQRT_COMPOSITE_H_
#define HEFT_INVERSE_SQRT_COMPOSITE_H_

#include <span>

#include "base/status.h"
#include "heft/train.h"

namespace heft {

// FitComposite: f = f_k o ... o f_1 with deg f_i = degrees[i-1] (the paper's "degree 6" is {3, 3}).
// It starts with greedy least squares: each stage is fitted to 1/sqrt(s) as a function of the
// stages before it. Then it fits all coefficients together by the Levenberg-Marquardt method; for
// kMinimax it minimises the relative error's p-norm with p rising to 64, which is close to the
// minimax optimum but not certified. 1 to 4 stages, each of degree 1 to 7; errors as FitMinimax.
absl::StatusOr<Approximation> FitComposite(std::span<const int> degrees, const Interval& interval,
                                           FitKind kind);

// PaperDegree2: 2.51308415 - 1.81897596 s + 0.42084296 s^2 on [0.05, 3], the paper's published
// quadratic (its code repository).
Approximation PaperDegree2();

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_COMPOSITE_H_
