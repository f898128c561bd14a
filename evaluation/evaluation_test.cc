// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "evaluation/bootstrap.h"
#include "evaluation/thresholds.h"
#include "features/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heft {
namespace {

double BruteAuroc(const ScoreSet& scores) {
  double sum = 0;
  for (double g : scores.genuine) {
    for (double i : scores.impostor) sum += g > i ? 1 : g == i ? 0.5 : 0;
  }
  return sum / (scores.genuine.size() * scores.impostor.size());
}

// TmrAtFmr: the highest TMR of any threshold with no more than `fmr`, from the ROC.
double TmrAtFmr(const ScoreSet& scores, double fmr) {
  double tmr = 0;
  const auto roc = Roc(scores);
  for (const RocPoint& point : *roc) {
    if (point.fmr <= fmr) tmr = point.tmr;
  }
  return tmr;
}

TEST(Metrics, SmallExampleByHand) {
  const ScoreSet scores{{0.9, 0.8, 0.3}, {0.85, 0.3, 0.2, 0.1}};
  EXPECT_DOUBLE_EQ(*Auroc(scores), (4 + 3 + 2.5) / 12);
  const auto roc = Roc(scores);
  ASSERT_TRUE(roc.ok());
  ASSERT_EQ(roc->size(), 7u);
  EXPECT_EQ((*roc)[1].tmr, 1.0 / 3);
  EXPECT_EQ((*roc)[4].fmr, 0.5);  // the tie at 0.3 is one point
  EXPECT_EQ((*roc)[4].tmr, 1.0);
  EXPECT_EQ(roc->back().fmr, 1.0);
  EXPECT_DOUBLE_EQ(TmrAtFmr(scores, 0.25), 2.0 / 3);
  EXPECT_DOUBLE_EQ(TmrAtFmr(scores, 1e-3), 1.0 / 3);
  // Between (FMR, FNMR) = (.25, 1/3) and (.5, 0): equal at .25 + t/4 = 1/3 - t/3.
  EXPECT_NEAR(Verify(scores)->eer, 0.25 + 0.25 * (1.0 / 12) / (7.0 / 12), 1e-12);
}

TEST(Metrics, ExtremesAndErrors) {
  EXPECT_EQ(*Auroc({{2}, {1}}), 1);
  EXPECT_EQ(*Auroc({{1}, {2}}), 0);
  EXPECT_EQ(*Auroc({{1, 1}, {1}}), 0.5);
  EXPECT_EQ(Verify({{2}, {1}})->eer, 0);
  EXPECT_EQ(TmrAtFmr({{2}, {1}}, 1e-3), 1);
  EXPECT_FALSE(Auroc({{}, {1}}).ok());
  EXPECT_FALSE(Auroc({{1}, {}}).ok());
  EXPECT_FALSE(Auroc({{NAN}, {1}}).ok());
  const int one_identity[] = {0, 0};
  EXPECT_FALSE(PairScores(FeatureMatrix::Zero(2, 2), one_identity).ok());
  EXPECT_FALSE(PairScores(FeatureMatrix::Zero(3, 3), one_identity).ok());
}

TEST(Metrics, AgreesWithCountingEveryPair) {
  Random random(1);
  ScoreSet scores;
  for (int i = 0; i < 200; ++i) scores.genuine.push_back(std::round(random.Normal() * 8 + 8));
  for (int i = 0; i < 700; ++i) scores.impostor.push_back(std::round(random.Normal() * 8));
  EXPECT_NEAR(*Auroc(scores), BruteAuroc(scores), 1e-12);
  const auto all = Verify(scores);
  EXPECT_DOUBLE_EQ(all->tmr_1e2, TmrAtFmr(scores, 1e-2));
  EXPECT_DOUBLE_EQ(all->tmr_1e3, TmrAtFmr(scores, 1e-3));
}

// Identities with a mean of their own, samples around it; score = -|difference|.
LabelledScores Simulated(uint64_t seed, int identities, int samples, double noise) {
  Random random(seed);
  LabelledScores set;
  std::vector<double> values;
  for (int identity = 0; identity < identities; ++identity) {
    const double mean = random.Normal();
    for (int sample = 0; sample < samples; ++sample) {
      values.push_back(mean + noise * random.Normal());
      set.identities.push_back(identity);
    }
  }
  const int n = values.size();
  set.scores.resize(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) set.scores(i, j) = -std::abs(values[i] - values[j]);
  }
  return set;
}

absl::StatusOr<VerificationEstimate> EstimateVerification(std::span<const LabelledScores> sets,
                                                          const BootstrapOptions& options = {}) {
  return SystemComparison(options).Add(sets);
}
absl::StatusOr<VerificationEstimate> EstimateVerification(const LabelledScores& set,
                                                          const BootstrapOptions& options = {}) {
  return EstimateVerification(std::span(&set, 1), options);
}

TEST(Bootstrap, CoversTheTruthAndDoesNotDependOnThreads) {
  // The truth from a large set; 40 small ones must contain it about 95% of the time.
  const LabelledScores large = Simulated(99, 600, 3, 0.5);
  const double truth = *Auroc(*PairScores(large.scores, large.identities));
  int covered = 0;
  BootstrapOptions options;
  options.replicates = 200;
  for (int trial = 0; trial < 40; ++trial) {
    const auto estimate = EstimateVerification(Simulated(trial, 40, 4, 0.5), options);
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    covered += estimate->auroc.lo <= truth && truth <= estimate->auroc.hi;
  }
  EXPECT_GE(covered, 33);

  const LabelledScores set = Simulated(5, 30, 5, 0.4);
  SetThreadCount(1);
  const auto one = EstimateVerification(set, options);
  SetThreadCount(3);
  const auto three = EstimateVerification(set, options);
  SetThreadCount(0);
  EXPECT_EQ(one->auroc.lo, three->auroc.lo);
  EXPECT_EQ(one->tmr_1e3.hi, three->tmr_1e3.hi);
  EXPECT_EQ(one->genuine_pairs, 30 * 10);
  EXPECT_EQ(one->impostor_pairs, 30 * 29 / 2 * 25);
}

TEST(Bootstrap, PairedDifferenceIsSharperThanTwoIntervals) {
  const LabelledScores a = Simulated(5, 40, 4, 0.5);
  LabelledScores b = a;
  Random random(8);
  for (int i = 0; i < b.scores.rows(); ++i) {
    for (int j = i + 1; j < b.scores.cols(); ++j) b.scores(i, j) += 0.3 * random.Normal();
  }
  SystemComparison systems;
  const auto alone = systems.Add({&a, 1});
  ASSERT_TRUE(alone.ok()) << alone.status();
  ASSERT_TRUE(systems.Add({&b, 1}).ok());
  const Estimate difference = systems.Difference(0, 1), none = systems.Difference(0, 0);
  EXPECT_GT(difference.lo, 0);
  EXPECT_LT(difference.hi - difference.lo, alone->auroc.hi - alone->auroc.lo);
  EXPECT_EQ(none.lo, 0);
  EXPECT_EQ(none.hi, 0);
  const LabelledScores others = Simulated(5, 20, 8, 0.5);
  EXPECT_FALSE(systems.Add({&others, 1}).ok());
}

TEST(Bootstrap, PairedDifferenceOfFnmr) {
  const LabelledScores good = Simulated(5, 40, 4, 0.01);
  LabelledScores bad = good;  // which rejects every second person
  for (int i = 0; i < bad.scores.rows(); ++i) {
    for (int j = 0; j < bad.scores.cols(); ++j) {
      if (bad.identities[i] == bad.identities[j] && bad.identities[i] % 2 == 0) {
        bad.scores(i, j) -= 10;
      }
    }
  }
  SystemComparison systems;
  const auto first = systems.Add({&good, 1}), second = systems.Add({&bad, 1});
  ASSERT_TRUE(first.ok() && second.ok());
  const Estimate errors = systems.FnmrDifference(1, 0);
  EXPECT_NEAR(errors.value, first->tmr_1e3.value - second->tmr_1e3.value, 1e-12);
  EXPECT_TRUE(Worse(errors) && SurelyWorse(errors)) << errors.lo;
  EXPECT_FALSE(Worse(systems.FnmrDifference(0, 1)) || Worse(systems.FnmrDifference(0, 0)));
  EXPECT_FALSE(Worse({0.001, -0.004, 0.002})) << "one comparison does not make a loss";
}

TEST(Bootstrap, FoldsAreAveragedAndLargeSetsThinned) {
  const LabelledScores sets[] = {Simulated(1, 20, 4, 0.5), Simulated(2, 20, 4, 0.5)};
  const auto both = EstimateVerification(sets);
  ASSERT_TRUE(both.ok());
  EXPECT_NEAR(both->auroc.value, (both->auroc_by_set[0] + both->auroc_by_set[1]) / 2, 1e-12);
  EXPECT_GT(both->auroc_spread, 0);
  BootstrapOptions thin;
  thin.max_pairs = 500;
  const auto thinned = EstimateVerification(sets, thin);
  EXPECT_EQ(thinned->auroc.value, both->auroc.value);
  EXPECT_NEAR(thinned->auroc.lo, both->auroc.lo, 0.03);
  thin.replicates = 0;
  EXPECT_FALSE(EstimateVerification(sets, thin).ok());
}

// Known answer: quantiles of the normal distribution, and the rule of 30.
TEST(Thresholds, KeepTheRateAndWarn) {
  Random random(3);
  Comparisons list;
  for (int i = 0; i < 500; ++i) list.Add(random.Normal() + 3, i % 50, i % 50);
  for (int i = 0; i < 5000; ++i) list.Add(random.Normal(), i % 50, (i + 1 + i / 50 % 49) % 50);
  const auto table = CalibrateThresholds(std::span(&list, 1), {.replicates = 20});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->genuine_pairs, 500);
  EXPECT_EQ(table->impostor_pairs, 5000);
  const DecisionThreshold &percent = table->thresholds[15], &rare = table->thresholds[23];
  EXPECT_EQ(percent.fmr, 1e-2);
  EXPECT_NEAR(percent.score, 2.33, 0.15);
  EXPECT_NEAR(rare.score, 3.09, 0.25);
  EXPECT_TRUE(percent.Supported());
  EXPECT_FALSE(rare.Supported());
  EXPECT_THAT(table->warning, ::testing::HasSubstr("FMR 0.001 rests on 5000"));
  EXPECT_THAT(table->warning, ::testing::HasSubstr("30000"));
  EXPECT_THAT(table->warning, ::testing::Not(::testing::HasSubstr("FMR 0.01 ")));
}

TEST(Calibration, RecoversTheLogLikelihoodRatioOfGaussians) {
  Random random(4);
  ScoreSet scores;  // N(2, 1) against N(0, 1): the ratio's logarithm is 2 s - 2.
  for (int i = 0; i < 20000; ++i) scores.genuine.push_back(random.Normal() + 2);
  for (int i = 0; i < 60000; ++i) scores.impostor.push_back(random.Normal());
  const auto fit = CalibrateScores(scores);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->slope, 2, 0.08);
  EXPECT_NEAR(fit->intercept, -2, 0.08);
  const auto separable = CalibrateScores({{1, 2}, {-1, -2}});
  EXPECT_TRUE(std::isfinite(separable->slope));
  EXPECT_GT(separable->slope, 1);
}

}  // namespace
}  // namespace heft
