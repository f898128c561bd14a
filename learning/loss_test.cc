// SPDX-License-Identifier: Apache-2.0
#include "learning/loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/threads.h"
#include "features/random.h"
#include "gtest/gtest.h"
#include "heft/train.h"

namespace heft {
namespace {

struct Problem {
  FeatureMatrix projection, features;
  std::vector<int> classes;
};

// 9 classes of 1 to 5 samples, mixed up.
Problem SmallProblem(uint64_t seed) {
  Random random(seed);
  Problem problem;
  for (int c = 0; c < 9; ++c) problem.classes.insert(problem.classes.end(), 1 + c % 5, c);
  random.Shuffle(problem.classes);
  problem.features.resize(problem.classes.size(), 6);
  problem.projection.resize(3, 6);
  FeatureMatrix means(9, 6);
  for (FeatureMatrix* m : {&problem.features, &problem.projection, &means}) {
    for (Eigen::Index i = 0; i < m->size(); ++i) m->data()[i] = random.Normal();
  }
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    problem.features.row(i) += means.row(problem.classes[i]);
  }
  problem.features.rowwise().normalize();
  problem.projection /= std::sqrt(SquaredNorms(problem.projection, problem.features).mean());
  return problem;
}

// Equations 1 and 2 as they stand, O(n^3).
double BruteLoss(const Problem& p, const LossOptions& options, const Normaliser& normaliser) {
  const bool euclidean = options.metric == Metric::kEuclidean;
  std::vector<Eigen::RowVectorXd> u;
  std::vector<int> classes;
  auto distance = [&](int i, int j) {
    return euclidean ? (u[i] - u[j]).squaredNorm() : 1 - u[i].dot(u[j]);
  };
  for (Eigen::Index i = 0; i < p.features.rows(); ++i) {
    const Eigen::RowVectorXd z = p.features.row(i) * p.projection.transpose();
    if (!euclidean && !normaliser.Valid(z.squaredNorm())) continue;
    u.push_back(euclidean ? z : normaliser.Value(z.squaredNorm()) * z);
    classes.push_back(p.classes[i]);
  }
  double pull = 0, push = 0, pairs = 0, triplets = 0;
  const int n = u.size();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i == j || classes[i] != classes[j]) continue;
      const double d = distance(i, j);
      pull += d;
      ++pairs;
      for (int k = 0; k < n; ++k) {
        if (classes[k] == classes[i]) continue;
        push += std::max(0.0, options.margin + d - distance(i, k));
        ++triplets;
      }
    }
  }
  return options.lambda * pull / pairs + (1 - options.lambda) * push / triplets;
}

std::vector<Normaliser> Normalisers() {
  return {{},
          {*FitMinimax(2, {0.05, 3}), 1.0},
          {*FitMinimax(3, {0.4, 1.8}), 0.8},  // some samples are outside
          {*FitLeastSquares(7, {0.1, 2.5}), 1.3}};
}

TEST(Loss, EqualsEveryPairAndTriplet) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Problem p = SmallProblem(seed);
    for (const Normaliser& normaliser : Normalisers()) {
      for (const LossOptions& options :
           {LossOptions{0.25, 0.25}, LossOptions{0.01, 1.0}, LossOptions{1.0, 0.1},
            LossOptions{0.0, 0.0}, LossOptions{0.4, 0.7, Metric::kEuclidean}}) {
        const LossResult result =
            LossAndGradient(p.projection, p.features, p.classes, options, normaliser);
        EXPECT_NEAR(result.loss, BruteLoss(p, options, normaliser), 1e-12);
        EXPECT_EQ(result.used + result.skipped, p.features.rows());
      }
    }
  }
}

TEST(Loss, GradientMatchesCentralDifferences) {
  Problem p = SmallProblem(7);
  std::vector<std::pair<LossOptions, Normaliser>> cases = {
      {LossOptions{0.3, 0.4, Metric::kEuclidean}, {}}};
  for (const Normaliser& normaliser : Normalisers()) cases.push_back({{0.3, 0.4}, normaliser});
  for (const auto& [options, normaliser] : cases) {
    const LossResult result =
        LossAndGradient(p.projection, p.features, p.classes, options, normaliser);
    for (Eigen::Index i = 0; i < p.projection.size(); ++i) {
      const double h = 1e-6, kept = p.projection.data()[i];
      p.projection.data()[i] = kept + h;
      const double above = BruteLoss(p, options, normaliser);
      p.projection.data()[i] = kept - h;
      const double below = BruteLoss(p, options, normaliser);
      p.projection.data()[i] = kept;
      EXPECT_NEAR(result.gradient.data()[i], (above - below) / (2 * h), 1e-6);
    }
  }
}

TEST(Loss, SkipsAndCountsSamplesOutside) {
  Problem p = SmallProblem(3);
  Normaliser normaliser{*FitMinimax(3, {0.05, 3}), 1.0};
  p.features.row(0) *= 100;
  p.features.row(1) *= 1e-3;
  const Eigen::VectorXd s = SquaredNorms(p.projection, p.features);
  const int outside = (s.array() < 0.05 || s.array() > 3).count();
  EXPECT_GE(outside, 2);
  const LossResult result = LossAndGradient(p.projection, p.features, p.classes, {}, normaliser);
  EXPECT_EQ(result.skipped, outside);
  EXPECT_TRUE(result.gradient.allFinite());
}

TEST(Loss, NothingToCompareIsZero) {
  Problem p = SmallProblem(3);
  std::iota(p.classes.begin(), p.classes.end(), 0);
  const LossResult result = LossAndGradient(p.projection, p.features, p.classes, {}, {});
  EXPECT_EQ(result.loss, 0);
  EXPECT_EQ(result.gradient.norm(), 0);
  std::fill(p.classes.begin(), p.classes.end(), 1);
  EXPECT_GT(LossAndGradient(p.projection, p.features, p.classes, {}, {}).loss, 0);
}

TEST(Loss, DoesNotDependOnThreads) {
  const Problem p = SmallProblem(5);
  SetThreadCount(1);
  const LossResult one = LossAndGradient(p.projection, p.features, p.classes, {}, {});
  SetThreadCount(3);
  const LossResult three = LossAndGradient(p.projection, p.features, p.classes, {}, {});
  SetThreadCount(0);
  EXPECT_EQ(one.loss, three.loss);
  EXPECT_EQ(one.gradient, three.gradient);
}

}  // namespace
}  // namespace heft
