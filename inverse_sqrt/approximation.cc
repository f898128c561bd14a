// SPDX-License-Identifier: Apache-2.0
#include "inverse_sqrt/approximation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heft/model.h"

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

double Polynomial::operator()(double s) const {
  const double t = (s - centre) / half_width;
  double value = 0.0;
  for (int k = Degree(); k >= 0; --k) value = value * t + coefficients[k];
  return value;
}

double Polynomial::Derivative(double s) const {
  const double t = (s - centre) / half_width;
  double value = 0.0;
  for (int k = Degree(); k >= 1; --k) value = value * t + k * coefficients[k];
  return value / half_width;
}

Polynomial Polynomial::InPowersOfS() const {
  // Horner's scheme on coefficient vectors: result = result * t + c, t = (s - centre) / half_width.
  const long double slope = 1.0L / half_width;
  const long double offset = -static_cast<long double>(centre) / half_width;
  std::vector<long double> powers;
  for (int k = Degree(); k >= 0; --k) {
    powers.push_back(0.0L);
    for (int j = static_cast<int>(powers.size()) - 1; j >= 1; --j) {
      powers[j] = powers[j] * offset + powers[j - 1] * slope;
    }
    powers[0] = powers[0] * offset + coefficients[k];
  }
  Polynomial result;
  result.coefficients.assign(powers.begin(), powers.end());
  return result;
}

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
