// SPDX-License-Identifier: Apache-2.0
// Approximation: a composition of polynomials that approximates 1/sqrt(s) on an interval, because
// ciphertexts can only be added and multiplied. It is part of a model (heft/model.h). These are
// values; several threads may read one.
#ifndef HEFT_APPROXIMATION_H_
#define HEFT_APPROXIMATION_H_

#include <string>
#include <vector>

#include "heft/export.h"

namespace heft {

// Polynomial: p(s) = sum_k coefficients[k] * t^k with t = (s - centre) / half_width. With the
// default centre 0 and half_width 1 these are plain powers of s, lowest first. Fits of degree above
// kMaxPlainDegree are returned around the middle of their interval, because their plain
// coefficients cancel catastrophically in double precision.
struct HEFT_EXPORT Polynomial {
  static constexpr int kMaxPlainDegree = 7;

  std::vector<double> coefficients;
  double centre = 0.0;
  double half_width = 1.0;

  int Degree() const { return static_cast<int>(coefficients.size()) - 1; }
  // 0 for an empty polynomial.
  double operator()(double s) const;
  double Derivative(double s) const;
  // The same polynomial in plain powers of s (centre 0, half_width 1).
  Polynomial InPowersOfS() const;

  bool operator==(const Polynomial&) const = default;
};

// Interval: the squared norms s for which an approximation is accurate, 0 < lo < hi.
struct Interval {
  double lo = 0.05;
  double hi = 3.0;

  bool Contains(double s) const { return s >= lo && s <= hi; }
  bool operator==(const Interval&) const = default;
};

// Approximation: f = stages.back() o ... o stages.front(), applied to s in `interval`. Outside the
// interval its value is meaningless.
struct HEFT_EXPORT Approximation {
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

#endif  // HEFT_APPROXIMATION_H_
