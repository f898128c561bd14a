// SPDX-License-Identifier: Apache-2.0
#include "evaluation/wolves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "features/random.h"

namespace heft {
namespace {

// People of 24 dimensions in all directions. A share of them lies around the first axis: this
// plants a wolf.
AttackedFold Flock(uint64_t seed, int known, int targets, double share) {
  constexpr int kDimensions = 24;
  Random random(seed);
  const auto draw = [&] {
    Eigen::RowVectorXd row(kDimensions);
    for (double& x : row) x = random.Normal();
    if (random.Uniform() < share) row = 0.5 * row + Eigen::RowVectorXd::Unit(kDimensions, 0) * 3;
    return Eigen::RowVectorXd(row.normalized());
  };
  AttackedFold fold{FeatureMatrix(known, kDimensions), FeatureMatrix(targets, kDimensions), {}};
  for (int i = 0; i < known; ++i) fold.known.row(i) = draw();
  for (int i = 0; i < targets; ++i) {
    fold.targets.row(i) = draw();
    fold.people.push_back(i);
  }
  return fold;
}

// A tenth of the people score about 0.78 with the first axis, and strangers rarely reach 0.6.
TEST(WolvesTest, APlantedWolfIsFound) {
  const AttackedFold fold = Flock(1, 400, 2000, 0.1);
  const auto planted = (fold.targets.col(0).array() >= 0.6).count() / 2000.0;
  EXPECT_NEAR(planted, 0.09, 0.03);
  const auto wolves = *MeasureWolves(std::span(&fold, 1), std::vector<double>{0.6});
  EXPECT_GT(wolves.AcceptedAt(0.6), 0.85 * planted);
  EXPECT_LT(wolves.AcceptedAt(0.6), 1.15 * planted);
  const Estimate accepted = wolves.AcceptedIn(0.6, 1);
  EXPECT_EQ(accepted.value, wolves.AcceptedAt(0.6));
  EXPECT_LT(accepted.lo, planted);
  EXPECT_GT(accepted.hi, planted);
  EXPECT_GT(accepted.lo, 0.8 * accepted.value);
  EXPECT_LT(accepted.hi, 1.2 * accepted.value);
  double best = 0;
  const FeatureMatrix learned = LearnWolves(fold.known, 0.6);
  for (Eigen::Index i = 0; i < learned.rows(); ++i) {
    EXPECT_NEAR(learned.row(i).norm(), 1, 1e-9);
    best = std::max(best, learned(i, 0));
  }
  EXPECT_GT(best, 0.9) << "along the first axis";
}

// Where all directions are alike, no probe is better than another.
TEST(WolvesTest, WhereAllAreAlikeThereIsNone) {
  const AttackedFold fold = Flock(2, 400, 20000, 0);
  const auto wolves = *MeasureWolves(std::span(&fold, 1), std::vector<double>{0.5});
  // The share of random directions in 24 dimensions with a cosine of 0.5 or more.
  EXPECT_NEAR(wolves.AcceptedAt(0.5), 0.0065, 0.003);
}

TEST(WolvesTest, ThresholdsKeepTheRateOnNewPeople) {
  const AttackedFold fold = Flock(3, 400, 1000, 0.1), others = Flock(4, 2, 20000, 0.1);
  const auto wolves = *MeasureWolves(std::span(&fold, 1), std::vector<double>{0.5, 0.6, 0.7, 0.8});
  for (const double rate : {1e-1, 1e-2, 1e-3}) {
    const double threshold = wolves.ThresholdFor(rate);
    const FeatureMatrix learned = LearnWolves(fold.known, threshold);
    double most = 0;
    for (int i = 0; i < kWolves; ++i) {
      const Eigen::VectorXd scores = others.targets * learned.row(i).transpose();
      most = std::max(most, (scores.array() >= threshold).count() / 20000.0);
    }
    EXPECT_LT(most, 1.4 * rate);
    EXPECT_GT(most, 0.3 * rate);
  }
}

TEST(WolvesTest, CurvesAndSearchesAgainstThem) {
  const AttackedFold fold = Flock(5, 400, 1000, 0.1);
  const auto wolves = *MeasureWolves(std::span(&fold, 1), std::vector<double>{0.6, 0.8});
  const std::vector<double> genuine = {0.5, 0.7, 0.95, 0.99};
  const std::vector<DecisionThreshold> curve = {{1e-1, 0.3, 0, 100000, {0.09, 0.11}},
                                                {1e-2, 0.45, 0, 100000, {0.009, 0.011}}};
  const auto against = AgainstWolves(curve, wolves, genuine, 1);
  EXPECT_GT(against[0].score, 0.5);
  EXPECT_GE(against[1].score, against[0].score);
  EXPECT_LE(wolves.AcceptedAt(against[0].score), 0.1);
  EXPECT_LE(wolves.AcceptedAt(against[1].score), 0.012);
  EXPECT_GE(against[1].fnmr, 0.25);
  EXPECT_EQ(against[1].impostor_pairs, 1000u);
  EXPECT_LE(against[1].interval.lo, 0.01);
  EXPECT_GE(against[1].interval.hi, 0.01);
  SearchCalibration search;
  search.people = 1000;
  search.comparisons = 100000;
  search.tail = {0.4, 0.05, 0.05, 0, 5};
  const SearchCalibration hardened = AgainstWolves(search, wolves, 1);
  EXPECT_EQ(hardened.comparisons, 1000u);
  EXPECT_FALSE(hardened.replicates.empty());
  const double threshold = hardened.tail.ThresholdFor(1e-2, 10);
  EXPECT_GT(threshold, search.tail.ThresholdFor(1e-2, 10));
  EXPECT_LE(wolves.AcceptedAt(threshold), 0.003) << "a thousandth of the comparisons";
}

TEST(WolvesTest, RefusesPeopleThatDoNotFit) {
  AttackedFold fold = Flock(6, 10, 10, 0);
  EXPECT_FALSE(MeasureWolves(std::span(&fold, 1), {}).ok());
  fold.people.pop_back();
  EXPECT_FALSE(MeasureWolves(std::span(&fold, 1), std::vector<double>{0.5}).ok());
  EXPECT_FALSE(MeasureWolves({}, std::vector<double>{0.5}).ok());
}

}  // namespace
}  // namespace heft
