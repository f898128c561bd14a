// SPDX-License-Identifier: Apache-2.0
// Fits: polynomials near 1/sqrt(s), for a model (heft/model.h) whose projection comes from another
// program. Its squared norms |P x|^2 must lie in the interval, so scale P until their median is
// near 1. heft/train.h does all this itself. Safe from any thread. Link heft::server.
//
//   auto approximation = heft::FitMinimax(3, {.lo = 0.4, .hi = 2.2});
//   if (approximation.ok()) model.approximation = *approximation;
#ifndef HEFT_FIT_H_
#define HEFT_FIT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "heft/approximation.h"
#include "heft/export.h"

namespace heft {

// kMaxFitDegree: the largest degree of a fit. Models use degree 2 or 3.
inline constexpr int kMaxFitDegree = 31;

// kPaperInterval: the interval of the HEFT paper (appendix, practical considerations).
inline constexpr Interval kPaperInterval{0.05, 3.0};

// FitKind: the minimised error: the largest relative error, or the mean square of the absolute
// error.
enum class FitKind { kMinimax, kLeastSquares };

// FitKindName, ParseFitKind: "minimax" and "least_squares". kInvalidArgument for other words.
HEFT_EXPORT std::string FitKindName(FitKind kind);
HEFT_EXPORT absl::StatusOr<FitKind> ParseFitKind(std::string_view name);

// FitMinimax: the polynomial of `degree` (1 to 31) that minimises max |f(s) sqrt(s) - 1| over the
// interval. Remez's multiple exchange in the Chebyshev basis, weight sqrt(s), extended precision.
// The error curve alternates degree + 2 times, which is necessary and sufficient because the
// functions sqrt(s) T_k form a Haar system (E. W. Cheney, Introduction to Approximation Theory, ch.
// 3). kInvalidArgument for a degree or interval out of range.
HEFT_EXPORT absl::StatusOr<Approximation> FitMinimax(int degree, const Interval& interval);

// FitLeastSquares: minimises the integral of (f(s) - 1/sqrt(s))^2 over the interval, with equal
// weight for all s as in the paper's fits. QR in the Chebyshev basis. Errors as above.
HEFT_EXPORT absl::StatusOr<Approximation> FitLeastSquares(int degree, const Interval& interval);

// Fit: calls the function of `kind`.
HEFT_EXPORT absl::StatusOr<Approximation> Fit(FitKind kind, int degree, const Interval& interval);

}  // namespace heft

#endif  // HEFT_FIT_H_
