// SPDX-License-Identifier: Apache-2.0
#include "fusion/factored.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

// RealRoot: a real root of s^3 + c2 s^2 + c1 s + c0.
double RealRoot(double c2, double c1, double c0) {
  auto value = [&](long double s) { return ((s + c2) * s + c1) * s + c0; };
  const long double bound = 1.0L + std::max({std::abs(c2), std::abs(c1), std::abs(c0)});
  long double lo = -bound, hi = bound;  // value(lo) < 0 < value(hi)
  for (int i = 0; i < 200; ++i) {
    const long double middle = (lo + hi) / 2;
    (value(middle) < 0 ? lo : hi) = middle;
  }
  return static_cast<double>((lo + hi) / 2);
}

}  // namespace

double FactoredPolynomial::Evaluate(double s) const {
  const double quadratic = (s + a) * (s + a) + b;
  return leading * quadratic * (degree == 3 ? s + d : 1.0);
}

absl::StatusOr<FactoredPolynomial> FactorForEvaluation(const Polynomial& polynomial) {
  const Polynomial plain = polynomial.InPowersOfS();
  const int degree = plain.Degree();
  if (degree != 2 && degree != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("only degrees 2 and 3 have the factored form, not ", degree));
  }
  const double leading = plain.coefficients[degree];
  if (leading == 0.0 || !std::isfinite(leading)) {
    return absl::InvalidArgumentError("the leading coefficient must be finite and not zero");
  }
  // Monic coefficients; the quadratic factor is s^2 + 2 a s + (a^2 + b).
  double linear = plain.coefficients[degree - 1] / leading;
  double constant = plain.coefficients[degree - 2] / leading;
  FactoredPolynomial result{degree, leading, 0.0, 0.0, 0.0};
  if (degree == 3) {
    const double root = RealRoot(linear, constant, plain.coefficients[0] / leading);
    result.d = -root;
    linear += root;
    constant += root * linear;
  }
  result.a = linear / 2;
  result.b = constant - result.a * result.a;
  return result;
}

}  // namespace heft
