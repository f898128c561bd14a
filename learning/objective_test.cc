// SPDX-License-Identifier: Apache-2.0
// The estimate of FNMR at a low FMR: known laws, and its purpose.
#include "learning/objective.h"

#include <gtest/gtest.h>

#include <cmath>

#include "features/random.h"
#include "learning/recipe.h"

namespace heft {
namespace {

// Upper tail of the standard normal distribution.
double Tail(double x) { return std::erfc(x / M_SQRT2) / 2; }

PooledPairs Normals(int genuine, int impostor, double separation, uint64_t seed) {
  Random random(seed);
  PooledPairs pairs;
  pairs.people = 100;
  for (int i = 0; i < genuine; ++i) {
    pairs.genuine.push_back(separation + random.Normal());
    pairs.person.push_back(i % 100);
  }
  for (int i = 0; i < impostor; ++i) pairs.impostor.push_back(random.Normal());
  return pairs;
}

TEST(TailThresholdTest, OfExponentialScores) {
  Random random(1);
  std::vector<double> scores;
  for (int i = 0; i < 200'000; ++i) scores.push_back(-std::log(1 - random.Uniform()));
  for (double fmr : {0.1, 1e-2, 1e-3, 1e-4}) {
    EXPECT_NEAR(TailThreshold(scores, fmr), -std::log(fmr), 0.1) << fmr;
  }
  std::vector<double> one = {0.5};
  EXPECT_EQ(TailThreshold(one, 1e-3), 0.5) << "one score has no tail";
}

TEST(EstimateFnmrTest, OfTwoNormalDistributions) {
  PooledPairs pairs = Normals(50'000, 200'000, 5, 2);
  // The 0.999 quantile is 3.09; the kernel adds its variance to the genuine scores'.
  const double exact = Tail((5 - 3.0902) / std::hypot(1, recipe::kBandwidth));
  const FnmrEstimate estimate = EstimateFnmr(pairs, 1e-3);
  EXPECT_NEAR(estimate.fnmr, exact, 0.25 * exact) << "an exponential tail is heavier";
  double missed = 0;
  for (double of : estimate.of_person) missed += of;
  EXPECT_NEAR(missed / 50'000, estimate.fnmr, 1e-9);
}

// 20 people of 4 samples: the empirical FNMR is 0 for both, the estimate tells them apart.
TEST(EstimateFnmrTest, TellsSeparableSystemsApart) {
  PooledPairs good = Normals(120, 3000, 9, 3), better = Normals(120, 3000, 12, 3);
  const double first = EstimateFnmr(good, 1e-3).fnmr, second = EstimateFnmr(better, 1e-3).fnmr;
  EXPECT_GT(first, 0);
  EXPECT_LT(second, first / 10);
}

TEST(EstimateFnmrTest, KnowsNothingWithoutPairs) {
  PooledPairs none;
  EXPECT_EQ(EstimateFnmr(none, 1e-3).fnmr, 1);
}

TEST(SubtractTest, IntervalsHoldTheDifferenceOfThoseWhoDifferInFewPeople) {
  FnmrEstimate a{0.02, 1, {2, 0, 0, 0}, {25, 25, 25, 25}};
  FnmrEstimate b{0.0, 1, {0, 0, 0, 0}, {25, 25, 25, 25}};
  const FnmrDifference difference = Subtract(a, b);
  EXPECT_DOUBLE_EQ(difference.value, 0.02);
  // Residuals 1.5, -0.5, -0.5, -0.5 over 100 pairs.
  EXPECT_NEAR(difference.standard_error, std::sqrt(3) / 100, 1e-12);
  EXPECT_EQ(Subtract(a, a).standard_error, 0);
}

}  // namespace
}  // namespace heft
