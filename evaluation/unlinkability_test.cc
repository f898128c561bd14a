// SPDX-License-Identifier: Apache-2.0
#include "evaluation/unlinkability.h"

#include <gtest/gtest.h>

#include <cmath>

#include "features/random.h"

namespace heft {
namespace {

std::vector<double> Normal(double mean, size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<double> out(count);
  for (double& x : out) x = mean + random.Normal();
  return out;
}

// By numbers: D_sys of two normals of deviation 1, so far apart.
double Exact(double apart) {
  double sum = 0;
  constexpr double kStep = 1e-3;
  for (double s = -8; s < 8 + apart; s += kStep) {
    const double mated = std::exp(-(s - apart) * (s - apart) / 2) / std::sqrt(2 * M_PI);
    const double ratio = std::exp(apart * s - apart * apart / 2);
    if (ratio > 1) sum += kStep * mated * (2 * ratio / (1 + ratio) - 1);
  }
  return sum;
}

TEST(UnlinkabilityTest, KnownDensities) {
  for (const double apart : {0.5, 1.0, 3.0}) {
    const auto found = MeasureUnlinkability(Normal(apart, 100000, 1), Normal(0, 400000, 2));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_NEAR(found->d_sys, Exact(apart), 0.01) << apart;
  }
}

TEST(UnlinkabilityTest, EndsOfTheScale) {
  // Apart, and the same.
  const std::vector<double> high = {0.9, 0.95, 1.0}, low = {0.0, 0.1, 0.2}, one = {0.5, 0.5};
  EXPECT_NEAR(MeasureUnlinkability(high, low)->d_sys, 1, 1e-12);
  EXPECT_EQ(MeasureUnlinkability(one, one)->d_sys, 0);
  // Lower scores of mated pairs link as well.
  EXPECT_NEAR(MeasureUnlinkability(low, high)->d_sys, 1, 1e-12);
  EXPECT_FALSE(MeasureUnlinkability({}, low).ok());
  EXPECT_FALSE(MeasureUnlinkability(std::vector<double>{std::nan("")}, low).ok());
}

// Scores of 120 templates of 40 people under two keys; mated ones are higher by `apart`.
FeatureMatrix Scores(double apart, uint64_t seed) {
  Random random(seed);
  FeatureMatrix out(120, 120);
  for (int a = 0; a < 120; ++a) {
    for (int b = 0; b < 120; ++b) out(a, b) = (a / 3 == b / 3 ? apart : 0) + random.Normal();
  }
  return out;
}
PairKind Kind(int a, int b) { return a / 3 == b / 3 ? PairKind::kMated : PairKind::kNonMated; }

TEST(LinkageTest, ChanceSaysWhatFewPairsPretend) {
  // Nothing to find: far from 0 for want of pairs, and no further than shuffled ones.
  const auto nothing = MeasureLinkage(Scores(0, 5), Kind, 100, 1);
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_GT(nothing->chance, 0.005);
  EXPECT_LE(nothing->found.d_sys, nothing->chance_hi);
  EXPECT_NEAR(nothing->found.d_sys, nothing->chance, 0.05);
  const auto something = MeasureLinkage(Scores(1, 5), Kind, 100, 1);
  ASSERT_TRUE(something.ok());
  EXPECT_NEAR(something->found.d_sys, Exact(1), 0.1);
  EXPECT_GT(something->found.d_sys, something->chance_hi + 0.1);
  EXPECT_FALSE(MeasureLinkage(Scores(0, 1), Kind, 1, 1).ok());
}

TEST(InversionTest, WhatTheTemplateHoldsComesBack) {
  // Vectors of 12 numbers; the template has the first 4.
  Random random(3);
  const auto draw = [&](int rows) {
    FeatureMatrix out(rows, 12);
    for (int i = 0; i < rows; ++i) {
      for (int d = 0; d < 12; ++d) out(i, d) = random.Normal();
    }
    return out;
  };
  const FeatureMatrix known = draw(2000), vectors = draw(500);
  const auto found = InvertTemplates(known.leftCols(4), known, vectors.leftCols(4), vectors);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(found->cosine, std::sqrt(4.0 / 12), 0.03);
  EXPECT_NEAR(found->blind, 0, 0.05);
  EXPECT_FALSE(InvertTemplates(known, known, vectors.leftCols(4), vectors).ok());
}

}  // namespace
}  // namespace heft
