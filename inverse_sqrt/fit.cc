// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "heft/train.h"
#include "inverse_sqrt/fit_internal.h"

namespace heft {
namespace internal {

absl::Status CheckFit(int degree, int max_degree, const Interval& interval) {
  if (degree < 1 || degree > max_degree) {
    return absl::InvalidArgumentError(
        absl::StrCat("degree ", degree, " of an approximation: choose 1 to ", max_degree));
  }
  if (!(interval.lo > 0) || !(interval.hi > interval.lo) || !std::isfinite(interval.hi)) {
    return absl::InvalidArgumentError(absl::StrCat("interval [", interval.lo, ", ", interval.hi,
                                                   "] of an approximation: need 0 < lo < hi"));
  }
  return absl::OkStatus();
}

Polynomial FromChebyshev(std::span<const long double> chebyshev, const Interval& interval) {
  const size_t n = chebyshev.size();
  std::vector<long double> sum(n, 0.0L), previous(n, 0.0L), current(n, 0.0L);
  current[0] = 1.0L;  // T_0; the recurrence below starts from T_{-1} = T_1 = x.
  if (n > 1) previous[1] = 1.0L;
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j <= k; ++j) sum[j] += chebyshev[k] * current[j];
    std::vector<long double> next(n, 0.0L);
    for (size_t j = 0; j < n; ++j) next[j] = (j > 0 ? 2.0L * current[j - 1] : 0.0L) - previous[j];
    previous = current;
    current = next;
  }
  Polynomial centred;
  centred.coefficients.assign(sum.begin(), sum.end());
  centred.centre = 0.5 * (interval.lo + interval.hi);
  centred.half_width = 0.5 * (interval.hi - interval.lo);
  return centred.Degree() <= Polynomial::kMaxPlainDegree ? centred.InPowersOfS() : centred;
}

}  // namespace internal

namespace {

using Real = long double;
using RealVector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
using RealMatrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;

// Remez: one run of Remez's algorithm in x = (s - centre) / half_width.
class Remez {
 public:
  Remez(int degree, const Interval& interval)
      : degree_(degree),
        centre_((static_cast<Real>(interval.lo) + interval.hi) / 2),
        half_width_((static_cast<Real>(interval.hi) - interval.lo) / 2),
        coefficients_(RealVector::Zero(degree + 1)) {}

  std::span<const Real> Run() {
    constexpr int kIterations = 60;
    std::vector<Real> points(degree_ + 2);
    for (int i = 0; i < degree_ + 2; ++i) {
      points[i] = -std::cos(std::numbers::pi_v<Real> * i / (degree_ + 1));
    }
    // On narrow intervals the error reaches the noise of the arithmetic, and exchanging points has
    // no meaning: keep the best polynomial so far.
    RealVector best;
    Real best_error = std::numeric_limits<Real>::infinity();
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      const Real levelled = std::abs(Solve(points));
      std::vector<Real> extrema = AlternatingExtrema();
      Real worst = 0;
      for (Real x : extrema) worst = std::max(worst, std::abs(Error(x)));
      if (worst < best_error) {
        best_error = worst;
        best = coefficients_;
      }
      if (static_cast<int>(extrema.size()) != degree_ + 2) break;
      points = std::move(extrema);
      if (worst - levelled <= 1e-10L * levelled) break;
    }
    coefficients_ = best;
    return {coefficients_.data(), static_cast<size_t>(coefficients_.size())};
  }

 private:
  Real SquareRoot(Real x) const { return std::sqrt(centre_ + half_width_ * x); }

  Real Error(Real x) const {
    Real b1 = 0, b2 = 0;  // Clenshaw's recurrence.
    for (int k = degree_; k >= 1; --k) {
      const Real b = coefficients_[k] + 2 * x * b1 - b2;
      b2 = b1;
      b1 = b;
    }
    return (coefficients_[0] + x * b1 - b2) * SquareRoot(x) - 1;
  }

  // Solve: levels the error on the points: p(x_i) sqrt(s_i) + (-1)^i e = 1. Returns e.
  Real Solve(const std::vector<Real>& points) {
    const int n = degree_ + 2;
    RealMatrix system(n, n);
    for (int i = 0; i < n; ++i) {
      const Real weight = SquareRoot(points[i]);
      Real t0 = 1, t1 = points[i];
      for (int k = 0; k <= degree_; ++k) {
        system(i, k) = weight * t0;
        const Real t2 = 2 * points[i] * t1 - t0;
        t0 = t1;
        t1 = t2;
      }
      system(i, n - 1) = (i % 2 == 0) ? 1 : -1;
    }
    const RealVector solution = system.fullPivLu().solve(RealVector::Ones(n));
    coefficients_ = solution.head(degree_ + 1);
    return solution[n - 1];
  }

  // AlternatingExtrema: the largest |error| of each run of equal signs, trimmed to degree + 2
  // alternating points.
  std::vector<Real> AlternatingExtrema() const {
    const int samples = 48 * (degree_ + 2);
    std::vector<Real> runs;
    for (int i = 0; i <= samples; ++i) {
      const Real x = -std::cos(std::numbers::pi_v<Real> * i / samples);
      const Real e = Error(x);
      if (runs.empty() || (e > 0) != (Error(runs.back()) > 0)) {
        runs.push_back(x);
      } else if (std::abs(e) > std::abs(Error(runs.back()))) {
        runs.back() = x;
      }
    }
    while (static_cast<int>(runs.size()) > degree_ + 2) {
      const bool drop_first = std::abs(Error(runs.front())) < std::abs(Error(runs.back()));
      runs.erase(drop_first ? runs.begin() : runs.end() - 1);
    }
    const Real step = std::numbers::pi_v<Real> / samples;
    for (Real& x : runs) x = Refine(x, step);
    return runs;
  }

  // Refine: golden-section search, in the angle, for the local extremum of |error| within one
  // sample of x.
  Real Refine(Real x, Real step) const {
    const Real angle = std::acos(std::clamp<Real>(x, -1, 1));
    Real lo = std::max<Real>(0, angle - step);
    Real hi = std::min<Real>(std::numbers::pi_v<Real>, angle + step);
    auto size = [this](Real a) { return std::abs(Error(std::cos(a))); };
    constexpr Real kGolden = 0.6180339887498948482L;
    Real a = hi - kGolden * (hi - lo), b = lo + kGolden * (hi - lo);
    Real size_a = size(a), size_b = size(b);
    for (int i = 0; i < 40; ++i) {
      if (size_a > size_b) {
        hi = b;
        b = a;
        size_b = size_a;
        a = hi - kGolden * (hi - lo);
        size_a = size(a);
      } else {
        lo = a;
        a = b;
        size_a = size_b;
        b = lo + kGolden * (hi - lo);
        size_b = size(b);
      }
    }
    const Real found = std::cos((lo + hi) / 2);
    return std::abs(Error(found)) > std::abs(Error(x)) ? found : x;
  }

  int degree_;
  Real centre_, half_width_;
  RealVector coefficients_;
};

}  // namespace

std::string FitKindName(FitKind kind) {
  return kind == FitKind::kMinimax ? "minimax" : "least_squares";
}

absl::StatusOr<FitKind> ParseFitKind(std::string_view name) {
  if (name == "minimax") return FitKind::kMinimax;
  if (name == "least_squares") return FitKind::kLeastSquares;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown fit '", std::string(name), "': choose minimax or least_squares"));
}

absl::StatusOr<Approximation> FitMinimax(int degree, const Interval& interval) {
  HEFT_RETURN_IF_ERROR(internal::CheckFit(degree, kMaxFitDegree, interval));
  Remez remez(degree, interval);
  return Approximation{
      {internal::FromChebyshev(remez.Run(), interval)}, interval, FitKindName(FitKind::kMinimax)};
}

absl::StatusOr<Approximation> FitLeastSquares(int degree, const Interval& interval) {
  HEFT_RETURN_IF_ERROR(internal::CheckFit(degree, kMaxFitDegree, interval));
  // Midpoint rule in the angle: ds is proportional to sin(angle) d(angle).
  const int samples = 2048;
  RealMatrix design(samples, degree + 1);
  RealVector target(samples);
  for (int i = 0; i < samples; ++i) {
    const Real angle = std::numbers::pi_v<Real> * (i + 0.5L) / samples;
    const Real s = (static_cast<Real>(interval.lo) + interval.hi) / 2 +
                   (static_cast<Real>(interval.hi) - interval.lo) / 2 * std::cos(angle);
    const Real weight = std::sqrt(std::sin(angle));
    for (int k = 0; k <= degree; ++k) design(i, k) = weight * std::cos(k * angle);
    target[i] = weight / std::sqrt(s);
  }
  const RealVector solution = design.householderQr().solve(target);
  const std::span<const Real> chebyshev(solution.data(), solution.size());
  return Approximation{{internal::FromChebyshev(chebyshev, interval)},
                       interval,
                       FitKindName(FitKind::kLeastSquares)};
}

absl::StatusOr<Approximation> Fit(FitKind kind, int degree, const Interval& interval) {
  return kind == FitKind::kMinimax ? FitMinimax(degree, interval)
                                   : FitLeastSquares(degree, interval);
}

}  // namespace heft
