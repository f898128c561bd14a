// SPDX-License-Identifier: Apache-2.0
#include "inverse_sqrt/goldschmidt.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "heft/train.h"

namespace heft {

double Goldschmidt::operator()(double s) const {
  const double y = slope * s + offset;
  double x = s * y, h = y / 2;
  for (int i = 0; i < iterations; ++i) {
    const double r = 1.5 - x * h;
    x *= r;
    h *= r;
  }
  return 2 * h;
}

double Goldschmidt::MaxRelativeError() const {
  constexpr int kPoints = 4000;
  double worst = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const double cosine = std::cos(std::numbers::pi * i / kPoints);
    const double s = (interval.lo + interval.hi) / 2 + (interval.hi - interval.lo) / 2 * cosine;
    worst = std::max(worst, std::abs((*this)(s)*std::sqrt(s) - 1));
  }
  return worst;
}

absl::StatusOr<Goldschmidt> FitGoldschmidt(int iterations, const Interval& interval) {
  if (iterations < 1 || iterations > kMaxGoldschmidtIterations) {
    return absl::InvalidArgumentError(
        absl::StrCat(iterations, " iterations of Goldschmidt's: 1 to ", kMaxGoldschmidtIterations));
  }
  HEFT_ASSIGN_OR_RETURN(const Approximation start, FitMinimax(1, interval));
  const Polynomial line = start.stages[0].InPowersOfS();
  // s y^2 = (1 + e)^2 must stay below 3. The minimax line's error is below 1, so only intervals
  // with a ratio in the thousands fail.
  if (start.MaxRelativeError() >= std::sqrt(3.0) - 1) {
    return absl::InvalidArgumentError(absl::StrCat("Goldschmidt's iteration does not converge on [",
                                                   interval.lo, ", ", interval.hi,
                                                   "] from a line: use a narrower interval"));
  }
  return Goldschmidt{line.coefficients[1], line.coefficients[0], iterations, interval};
}

}  // namespace heft
