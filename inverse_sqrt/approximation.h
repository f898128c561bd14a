// SPDX-License-Identifier: Apache-2.0
// Implements heft/model.h, and operations on polynomials on an interval.
#ifndef HEFT_INVERSE_SQRT_APPROXIMATION_H_
#define HEFT_INVERSE_SQRT_APPROXIMATION_H_

#include <vector>

#include "heft/model.h"

namespace heft {

// ChebyshevCoefficients: c such that p(s) = sum_k c[k] T_k((s - centre) / half_width) on the
// interval, where coefficients do not cancel; p.Degree() + 1 of them.
std::vector<double> ChebyshevCoefficients(const Polynomial& p, const Interval& interval);

// ImageOf: the range of `f` on the interval, from a dense sample.
Interval ImageOf(const Polynomial& f, const Interval& interval);

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_APPROXIMATION_H_
