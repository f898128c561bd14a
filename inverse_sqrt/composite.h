// SPDX-License-Identifier: Apache-2.0
// The paper's fits: compositions of polynomials, and its published quadratic. Single polynomials
// are heft/fit.h's.
#ifndef HEFT_INVERSE_SQRT_COMPOSITE_H_
#define HEFT_INVERSE_SQRT_COMPOSITE_H_

#include <span>

#include "base/status.h"
#include "heft/fit.h"

namespace heft {

// FitComposite: f = f_k o ... o f_1 with deg f_i = degrees[i-1] (the paper's "degree 6" is {3, 3}).
// Greedy least squares for the start (each stage is fitted to 1/sqrt(s) as a function of the
// stages before it), then all coefficients together by Levenberg and Marquardt's method;
// for kMinimax the relative error's p-norm with p rising to 64, which is close to the minimax
// optimum but not certified. 1 to 4 stages, each of degree 1 to 7; errors as FitMinimax's.
absl::StatusOr<Approximation> FitComposite(std::span<const int> degrees, const Interval& interval,
                                           FitKind kind);

// PaperDegree2: 2.51308415 - 1.81897596 s + 0.42084296 s^2 on [0.05, 3], the paper's published
// quadratic (its code repository).
Approximation PaperDegree2();

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_COMPOSITE_H_
