// SPDX-License-Identifier: Apache-2.0
#include "inverse_sqrt/chebyshev.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heft {
namespace {

double PointOf(const Interval& interval, double cosine) {
  return (interval.lo + interval.hi) / 2 + (interval.hi - interval.lo) / 2 * cosine;
}

}  // namespace

std::vector<double> ChebyshevCoefficients(const Polynomial& p, const Interval& interval) {
  // Interpolation at the Chebyshev points is exact for a polynomial of this degree.
  const int count = p.Degree() + 1;
  std::vector<double> coefficients(count, 0);
  for (int i = 0; i < count; ++i) {
    const double angle = std::numbers::pi * (i + 0.5) / count;
    const double value = p(PointOf(interval, std::cos(angle)));
    for (int k = 0; k < count; ++k) {
      coefficients[k] += (k == 0 ? 1.0 : 2.0) / count * value * std::cos(k * angle);
    }
  }
  return coefficients;
}

Interval ImageOf(const Polynomial& f, const Interval& interval) {
  constexpr int kPoints = 4096;
  Interval image{f(interval.lo), f(interval.lo)};
  for (int i = 0; i <= kPoints; ++i) {
    const double value = f(PointOf(interval, std::cos(std::numbers::pi * i / kPoints)));
    image.lo = std::min(image.lo, value);
    image.hi = std::max(image.hi, value);
  }
  return image;
}

}  // namespace heft
