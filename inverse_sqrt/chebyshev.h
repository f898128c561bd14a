// SPDX-License-Identifier: Apache-2.0
// ChebyshevCoefficients: polynomials in the Chebyshev basis of an interval, where coefficients do
// not cancel.
#ifndef HEFT_INVERSE_SQRT_CHEBYSHEV_H_
#define HEFT_INVERSE_SQRT_CHEBYSHEV_H_

#include <vector>

#include "inverse_sqrt/approximation.h"

namespace heft {

// ChebyshevCoefficients: c such that p(s) = sum_k c[k] T_k((s - centre) / half_width) on the
// interval; p.Degree() + 1 of them.
std::vector<double> ChebyshevCoefficients(const Polynomial& p, const Interval& interval);

// ImageOf: the values that `f` takes on the interval, from a dense sample.
Interval ImageOf(const Polynomial& f, const Interval& interval);

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_CHEBYSHEV_H_
