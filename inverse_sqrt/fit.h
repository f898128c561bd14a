// SPDX-License-Identifier: Apache-2.0
// Fit: polynomials near 1/sqrt(s).
#ifndef HEFT_INVERSE_SQRT_FIT_H_
#define HEFT_INVERSE_SQRT_FIT_H_

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "inverse_sqrt/approximation.h"

namespace heft {

// kMaxFitDegree: of FitMinimax and FitLeastSquares.
inline constexpr int kMaxFitDegree = 31;

// FitKind: what is minimised, the largest relative error or the mean square of the absolute one.
enum class FitKind { kMinimax, kLeastSquares };

// FitKindName, ParseFitKind: "minimax" and "least_squares".
std::string FitKindName(FitKind kind);
absl::StatusOr<FitKind> ParseFitKind(std::string_view name);

// FitMinimax: the polynomial of `degree` (1 to 31) that minimises max |f(s) sqrt(s) - 1| over the
// interval. Remez's multiple exchange in the Chebyshev basis, weight sqrt(s), extended precision
// (the error curve alternates degree + 2 times, which is necessary and sufficient because the
// functions sqrt(s) T_k form a Haar system; E. W. Cheney, Introduction to Approximation Theory,
// ch. 3). kInvalidArgument for a degree or interval out of range.
absl::StatusOr<Approximation> FitMinimax(int degree, const Interval& interval);

// FitLeastSquares: minimises the integral of (f(s) - 1/sqrt(s))^2 over the interval, all s weighted
// alike as in the paper's fits. QR in the Chebyshev basis. Errors as above.
absl::StatusOr<Approximation> FitLeastSquares(int degree, const Interval& interval);

// Fit: one of the two.
absl::StatusOr<Approximation> Fit(FitKind kind, int degree, const Interval& interval);

// FitComposite: f = f_k o ... o f_1 with deg f_i = degrees[i-1] (the paper's "degree 6" is {3, 3}).
// Greedy least squares for the start (each stage is fitted to 1/sqrt(s) as a function of the
// stages before it), then all coefficients together by Levenberg and Marquardt's method;
// for kMinimax the relative error's p-norm with p rising to 64, which is close to the minimax
// optimum but not certified. 1 to 4 stages, each of degree 1 to 7; errors as above.
absl::StatusOr<Approximation> FitComposite(std::span<const int> degrees, const Interval& interval,
                                           FitKind kind);

// PaperDegree2: 2.51308415 - 1.81897596 s + 0.42084296 s^2 on [0.05, 3], the paper's published
// quadratic (its code repository).
Approximation PaperDegree2();

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_FIT_H_
