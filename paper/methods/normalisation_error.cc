// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/normalisation_error.h"

#include <algorithm>
#include <cmath>

#include "ckks/noise.h"

namespace heft::paper {

namespace {

// ForPoints calls fn(s) for points of the interval, denser at its lower end.
template <typename Fn>
void ForPoints(const Interval& interval, const Fn& fn) {
  constexpr int kPoints = 128;
  for (int i = 0; i <= kPoints; ++i) {
    fn(interval.lo * std::pow(interval.hi / interval.lo, double(i) / kPoints));
  }
}

}  // namespace

double ErrorThroughNorm(const NormalisationSpec& spec, double z_error, double s_error) {
  double largest = 0;
  ForPoints(spec.Range(), [&](double s) {
    const double step = 1e-5 * s;
    const double slope = (spec(s + step) - spec(s - step)) / (2 * step);
    const double error = ckks::Combine(2 * std::sqrt(s) * z_error, s_error);
    largest = std::max(largest, std::sqrt(s) * std::abs(slope) * error);
  });
  return largest;
}

GoldschmidtError::GoldschmidtError(const Goldschmidt& g, double y_error, double x_error) {
  ForPoints(g.interval, [&](double at) {
    const double y = g.slope * at + g.offset;
    const double yy = y_error * y_error;
    points_.push_back({at, at * y, y / 2, at * at * yy + x_error * x_error, at / 2 * yy, yy / 4});
  });
}

void GoldschmidtError::Step(double r_error, double x_error, double h_error) {
  for (Point& p : points_) {
    const double r = 1.5 - p.x * p.h;
    const double a = r - p.x * p.h, b = -p.x * p.x, c = -p.h * p.h;
    const Point old = p;
    const double rr = r_error * r_error;
    p.xx = a * a * old.xx + 2 * a * b * old.xh + b * b * old.hh + old.x * old.x * rr +
           x_error * x_error;
    p.xh = a * c * old.xx + (a * a + b * c) * old.xh + a * b * old.hh + old.x * old.h * rr;
    p.hh = c * c * old.xx + 2 * a * c * old.xh + a * a * old.hh + old.h * old.h * rr +
           h_error * h_error;
    p.x *= r;
    p.h *= r;
  }
}

double GoldschmidtError::OfLength() const {
  double largest = 0;
  for (const Point& p : points_) largest = std::max(largest, 2 * std::sqrt(p.s * p.hh));
  return largest;
}

}  // namespace heft::paper
