// SPDX-License-Identifier: Apache-2.0
// Goldschmidt: Goldschmidt's iteration for 1/sqrt(s) from a linear start. It needs only products
// and sums, and each step squares the error (Markstein, 2004; Panda, 2021; paper, section on
// approximate normalisation).
#ifndef HEFT_INVERSE_SQRT_GOLDSCHMIDT_H_
#define HEFT_INVERSE_SQRT_GOLDSCHMIDT_H_

#include "base/status.h"
#include "heft/model.h"

namespace heft {

// kMaxGoldschmidtIterations: the largest number of FitGoldschmidt.
inline constexpr int kMaxGoldschmidtIterations = 12;

// Goldschmidt: y = slope s + offset, then x = s y, h = y / 2, and `iterations` times r = 3/2 - x h,
// x = x r, h = h r. The result 2 h approximates 1/sqrt(s) on `interval`. Diverges if s y^2 >= 3.
struct Goldschmidt {
  double slope = 0;
  double offset = 1;
  int iterations = 0;
  Interval interval;

  double operator()(double s) const;
  // MaxRelativeError: max |f(s) sqrt(s) - 1| over the interval, from a dense sample as in
  // Approximation.
  double MaxRelativeError() const;
};

// FitGoldschmidt: starts from the linear minimax fit. kInvalidArgument for iterations outside 1 to
// kMaxGoldschmidtIterations, and for an interval that is out of range or on which the iteration
// would not converge.
absl::StatusOr<Goldschmidt> FitGoldschmidt(int iterations, const Interval& interval);

}  // namespace heft

#endif  // HEFT_INVERSE_SQRT_GOLDSCHMIDT_H_
