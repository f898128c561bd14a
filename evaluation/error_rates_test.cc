// SPDX-License-Identifier: Apache-2.0
#include "evaluation/error_rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluation/resample.h"
#include "evaluation/thresholds.h"
#include "features/random.h"

namespace heft {
namespace {

// People with two samples each. A pair's score is noise, plus what both people bring: some are more
// like everybody than others are.
LabelledScores ScoresOf(uint64_t seed, int people, double own = 0.6) {
  Random random(seed);
  LabelledScores set;
  std::vector<double> like;
  for (int p = 0; p < people; ++p) {
    like.push_back(own * random.Normal());
    set.identities.insert(set.identities.end(), {p, p});
  }
  const int n = 2 * people;
  set.scores.resize(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = i; j < n; ++j) {
      const double same = i / 2 == j / 2 ? 3 : 0;
      set.scores(i, j) = set.scores(j, i) = random.Normal() + like[i / 2] + like[j / 2] + same;
    }
  }
  return set;
}

TEST(ErrorRates, AreCountedByHandAndPooled) {
  LabelledScores a, b;
  a.identities = {0, 0, 1};
  a.scores.resize(3, 3);
  a.scores << 9, 0.9, 0.1,  //
      9, 9, 0.4,            //
      9, 9, 9;
  b.identities = {0, 1, 1};
  b.scores.resize(3, 3);
  b.scores << 9, 0.6, 0.2,  //
      9, 9, 0.3,            //
      9, 9, 9;
  const LabelledScores sets[] = {a, b};
  const std::vector<double> thresholds[] = {{0.1, 0.4}, {0.3, 0.7}};
  const auto rates = MeasureErrorRates(sets, thresholds, {.replicates = 50});
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_EQ(rates->genuine_pairs, 2u);
  EXPECT_EQ(rates->impostor_pairs, 4u);
  ASSERT_EQ(rates->at.size(), 2u);
  EXPECT_DOUBLE_EQ(rates->at[0].fmr.value, 3.0 / 4);  // a threshold is reached by its own score
  EXPECT_DOUBLE_EQ(rates->at[1].fmr.value, 1.0 / 4);
  EXPECT_DOUBLE_EQ(rates->at[0].fnmr.value, 0.0);
  EXPECT_DOUBLE_EQ(rates->at[1].fnmr.value, 1.0 / 2);
  const std::vector<double> falling[] = {{0.4, 0.1}, {0.7, 0.3}};
  EXPECT_FALSE(MeasureErrorRates(sets, falling).ok());
  EXPECT_FALSE(MeasureErrorRates(sets, std::span(thresholds, 1)).ok());
  EXPECT_FALSE(MeasureErrorRates(sets, thresholds, {.replicates = 1}).ok());
}

// The claim of an interval: at a fixed score, that of 60 people in four sets holds the true rate
// about 95 times of 100, although the comparisons of one person depend on each other.
TEST(ErrorRates, IntervalsHoldTheTruth) {
  constexpr double kOwn = 0.6;
  // A score of two people is normal with this deviation.
  const double sigma = std::sqrt(1 + 2 * kOwn * kOwn);
  const std::vector<double> thresholds = {1.5 * sigma, 2.33 * sigma, 3.09 * sigma};
  int held[3] = {};
  constexpr int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<LabelledScores> sets;
    for (uint64_t k = 0; k < 4; ++k) sets.push_back(ScoresOf(100 * trial + k + 1, 15, kOwn));
    const auto rates = MeasureErrorRates(sets, std::vector(4, thresholds), {.replicates = 200});
    ASSERT_TRUE(rates.ok()) << rates.status();
    for (size_t k = 0; k < 3; ++k) {
      const double truth = std::erfc(thresholds[k] / sigma / std::sqrt(2.0)) / 2;
      held[k] += rates->at[k].fmr.lo <= truth && truth <= rates->at[k].fmr.hi;
    }
  }
  for (size_t k = 0; k < 3; ++k) RecordProperty("held_" + std::to_string(k), held[k]);
  EXPECT_GE(held[0], 85);
  EXPECT_GE(held[1], 85);
  EXPECT_GE(held[2], 85) << "1.7 false matches are to be expected: often there is none";
}

// Nothing seen in n comparisons: 3.69 / n is the 97.5% limit; 10 seen: 4.80 to 18.39.
TEST(ErrorRates, WhatWasNotSeenIsNotImpossible) {
  const Estimate none = internal::AtLeastPoisson({0, 0, 0}, 1000, 0.95);
  EXPECT_EQ(none.lo, 0);
  EXPECT_NEAR(none.hi, 3.689e-3, 3e-5);
  const Estimate ten = internal::AtLeastPoisson({0.01, 0.01, 0.01}, 1000, 0.95);
  EXPECT_NEAR(ten.lo, 4.795e-3, 3e-5);
  EXPECT_NEAR(ten.hi, 18.39e-3, 3e-5);
  const Estimate wide = internal::AtLeastPoisson({0.01, 0.001, 0.03}, 1000, 0.95);
  EXPECT_EQ(wide.lo, 0.001);
  EXPECT_EQ(wide.hi, 0.03);
}

TEST(Thresholds, AreACurveDownToOneFalseMatch) {
  const LabelledScores sets[] = {ScoresOf(1, 25), ScoresOf(2, 25)};
  const auto table = CalibrateThresholds(sets, {.replicates = 100});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->genuine_pairs, 2 * 25);
  EXPECT_EQ(table->impostor_pairs, 2 * 25 * 24 * 2);
  const auto pooled = PoolScores(sets);
  double last_fmr = 1, last_score = -1e9;
  for (size_t k = 0; k < table->thresholds.size(); ++k) {
    const DecisionThreshold& t = table->thresholds[k];
    EXPECT_LT(t.fmr, last_fmr);
    EXPECT_GE(t.score, last_score);
    const double seen = ShareAccepted(pooled->impostor, t.score);
    EXPECT_LE(seen, t.fmr);
    EXPECT_NEAR(t.fnmr, 1 - ShareAccepted(pooled->genuine, t.score), 1e-12);
    EXPECT_LE(t.interval.lo, seen);
    EXPECT_GE(t.interval.hi, seen);
    EXPECT_EQ(t.Supported(), t.fmr * 2400 >= 30);
    last_fmr = t.fmr;
    last_score = t.score;
  }
  EXPECT_EQ(table->thresholds[15].fmr, 1e-2) << "the usual rates are points";
  EXPECT_GE(last_fmr * 2400, 1);
  EXPECT_LT(last_fmr * 2400, std::pow(10, 0.125)) << "the next one could not be seen";
  EXPECT_EQ(CalibrateScores(sets)->slope, CalibrateScores(*pooled)->slope);
}

}  // namespace
}  // namespace heft
