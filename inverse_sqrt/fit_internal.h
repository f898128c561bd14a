// SPDX-License-Identifier: Apache-2.0
// CheckFit, FromChebyshev: shared by the fits; not for use outside this folder.
#ifndef HEFT_INVERSE_SQRT_FIT_INTERNAL_H_
#define HEFT_INVERSE_SQRT_FIT_INTERNAL_H_

#include <span>

#include "base/status.h"
#include "inverse_sqrt/approximation.h"

namespace heft::internal {

// CheckFit: kInvalidArgument unless 0 < lo < hi are finite and 1 <= degree <= max_degree.
absl::Status CheckFit(int degree, int max_degree, const Interval& interval);

// FromChebyshev: sum_k chebyshev[k] T_k((s - centre) / half_width) as a Polynomial: in plain powers
// of s up to degree kMaxPlainDegree, and around the interval's middle for higher degrees.
Polynomial FromChebyshev(std::span<const long double> chebyshev, const Interval& interval);

}  // namespace heft::internal

#endif  // HEFT_INVERSE_SQRT_FIT_INTERNAL_H_
