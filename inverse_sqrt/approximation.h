// SPDX-License-Identifier: Apache-2.0
// Approximation: a composition of polynomials that stands in for 1/sqrt(s) on an interval, because
// ciphertexts know only additions and products (HEFT paper, section on approximate normalisation).
#ifndef HEFT_INVERSE_SQRT_APPROXIMATION_H_
#define HEFT_INVERSE_SQRT_APPROXIMATION_H_

#include <string>
#include <vector>

#include "inverse_sqrt/polynomial.h"

namespace heft {

// Interval: the squared norms s that an approximation is good for, 0 < lo < hi.
struct Interval {
  double lo = 0.05;
  double hi = 3.0;

  bool Contains(double s) const { return s >= lo && s <= hi; }
  bool operator==(const Interval&) const = default;
};

// The interval of the paper (appendix, practical considerations).
inline constexpr Interval kPaperInterval{0.05, 3.0};

// Approximation: f = stages.back() o ... o stages.front(), applied to s in `interval`; outside it
// the value is defined but means nothing.
struct Approximation {
  std::vector<Polynomial> stages;
  Interval interval;
  std::string name;  // "minimax", "least_squares" or "paper"

  // f(s) and f'(s).
  double operator()(double s) const;
  double Derivative(double s) const;

  // Product of the stages' degrees.
  int Degree() const;

  // max |f(s) * sqrt(s) - 1| over the interval, from a dense sample (Chebyshev points, so that
  // the ends, where the error of a fit is largest, are sampled finely and included).
  double MaxRelativeError() const;

  bool operator==(const Approximation&) const = default;
};

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_APPROXIMATION_H_
