// SPDX-License-Identifier: Apache-2.0
#include "fusion/factored.h"

#include <gtest/gtest.h>

#include <cmath>

#include "heft/train.h"

namespace heft {
namespace {

TEST(Factored, EqualsThePolynomial) {
  for (int degree : {2, 3}) {
    for (const Interval& interval : {kPaperInterval, Interval{0.45, 1.7}, Interval{0.9, 1.1}}) {
      for (FitKind kind : {FitKind::kMinimax, FitKind::kLeastSquares}) {
        const Polynomial p = Fit(kind, degree, interval)->stages[0];
        const auto factored = FactorForEvaluation(p);
        ASSERT_TRUE(factored.ok());
        for (double s : {interval.lo, 1.0, interval.hi, 5.0}) {
          EXPECT_NEAR(factored->Evaluate(s), p(s), 1e-9 * (1 + std::abs(p(s))));
        }
      }
    }
  }
  // Three real roots, 1, 2 and 3.
  const auto factored = FactorForEvaluation(Polynomial{{-12, 22, -12, 2}});
  ASSERT_TRUE(factored.ok());
  EXPECT_NEAR(factored->Evaluate(5), 2 * 4 * 3 * 2, 1e-9);
}

TEST(Factored, OtherDegreesAreRefused) {
  for (const Polynomial& p : {Polynomial{{1, 2}}, Polynomial{{1, 2, 0}}}) {
    EXPECT_EQ(FactorForEvaluation(p).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace heft
