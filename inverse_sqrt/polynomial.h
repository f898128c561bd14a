// SPDX-License-Identifier: Apache-2.0
// Polynomials in one real variable, as few multiplications deep as the encrypted side can afford.
#ifndef HEFT_INVERSE_SQRT_POLYNOMIAL_H_
#define HEFT_INVERSE_SQRT_POLYNOMIAL_H_

#include <vector>

namespace heft {

// Polynomial: p(s) = sum_k coefficients[k] * t^k with t = (s - centre) / half_width. With the
// default centre 0 and half_width 1 these are plain powers of s, lowest first. Fits of degree above
// kMaxPlainDegree are returned around the middle of their interval, because their plain
// coefficients cancel catastrophically in double precision.
struct Polynomial {
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

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_POLYNOMIAL_H_
