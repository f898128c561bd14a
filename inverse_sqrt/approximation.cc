// SPDX-License-Identifier: Apache-2.0
#include "inverse_sqrt/approximation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heft {

double Approximation::operator()(double s) const {
  for (const Polynomial& stage : stages) s = stage(s);
  return s;
}

double Approximation::Derivative(double s) const {
  double slope = 1.0;
  for (const Polynomial& stage : stages) {
    slope *= stage.Derivative(s);
    s = stage(s);
  }
  return slope;
}

int Approximation::Degree() const {
  int degree = 1;
  for (const Polynomial& stage : stages) degree *= stage.Degree();
  return degree;
}

double Approximation::MaxRelativeError() const {
  const int points = std::max(4096, 128 * Degree());
  double worst = 0.0;
  for (int i = 0; i <= points; ++i) {
    const double x = std::cos(std::numbers::pi * i / points);
    const double s = 0.5 * (interval.lo + interval.hi) + 0.5 * (interval.hi - interval.lo) * x;
    worst = std::max(worst, std::abs((*this)(s)*std::sqrt(s) - 1.0));
  }
  return worst;
}

}  // namespace heft
