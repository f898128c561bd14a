// SPDX-License-Identifier: Apache-2.0
#include "evaluation/evidence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluation/thresholds.h"
#include "features/random.h"

namespace heft {
namespace {

TEST(Cllr, KnownAnswers) {
  // No evidence costs one bit; perfect evidence nothing.
  EXPECT_DOUBLE_EQ(*Cllr({{0, 0}, {0}}), 1);
  EXPECT_NEAR(*Cllr({{40}, {-40}}), 0, 1e-12);
  // By hand: -log2 P of each: ratios of 3 and 1/3 right and wrong.
  const double l = std::log(3.0);
  EXPECT_NEAR(*Cllr({{l, -l}, {-l}}), ((std::log2(4.0 / 3) + 2) / 2 + std::log2(4.0 / 3)) / 2,
              1e-12);
  EXPECT_FALSE(Cllr({{}, {1}}).ok());
}

TEST(MinimumCllr, KnownAnswers) {
  EXPECT_DOUBLE_EQ(*MinimumCllr({{1, 2}, {-1, 0}}), 0) << "separable";
  EXPECT_DOUBLE_EQ(*MinimumCllr({{1, 1}, {1}}), 1) << "all alike";
  EXPECT_DOUBLE_EQ(*MinimumCllr({{0}, {1}}), 1) << "upside down is pooled into one";
  // Scores 1 2 3 4 of impostor, genuine, impostor, genuine: the two in the middle are pooled. Of
  // each kind half the weight costs one bit and half costs none.
  EXPECT_NEAR(*MinimumCllr({{2, 4}, {1, 3}}), 0.5, 1e-12);
  // Three kinds of weight: runs (0 genuine, 1 impostor), (1, 2): impostors 1, 2, 2 and genuine 2.
  const double g = 1, i = 2.0 / 3;
  EXPECT_NEAR(*MinimumCllr({{2}, {1, 2, 2}}),
              (g * std::log2(1 + i / g) + i * std::log2(1 + g / i)) / 2, 1e-12);
}

TEST(MinimumCllr, IsTheLeastThatAnyRisingMapReaches) {
  Random random(7);
  ScoreSet scores;  // N(2, 1) against N(0, 1): the ratio's logarithm is 2 s - 2
  for (int k = 0; k < 3000; ++k) scores.genuine.push_back(random.Normal() + 2);
  for (int k = 0; k < 9000; ++k) scores.impostor.push_back(random.Normal());
  const auto mapped = [&](double slope, double intercept) {
    ScoreSet out = scores;
    for (auto* kind : {&out.genuine, &out.impostor}) {
      for (double& s : *kind) s = slope * s + intercept;
    }
    return out;
  };
  const double minimum = *MinimumCllr(scores), right = *Cllr(mapped(2, -2));
  EXPECT_LT(minimum, right);
  EXPECT_GT(minimum, right - 0.01) << "the true map is the best one, but for chance";
  EXPECT_NEAR(*MinimumCllr(mapped(5, 3)), minimum, 1e-12) << "any rising map has the same";
  EXPECT_GT(*Cllr(mapped(4, -4)), right + 0.02);
  EXPECT_GT(*Cllr(mapped(2, 0)), right + 0.02);
}

// Ratios of people with normal scores: well calibrated by construction, then overstated twofold.
LabelledScores Ratios(uint64_t seed, int people, double overstated) {
  Random random(seed);
  LabelledScores set;
  for (int p = 0; p < people; ++p) set.identities.insert(set.identities.end(), {p, p, p});
  const Eigen::Index n = 3 * people;
  set.scores.resize(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      set.scores(i, j) = overstated * (2 * (random.Normal() + (i / 3 == j / 3 ? 2 : 0)) - 2);
    }
  }
  return set;
}

TEST(Evidence, QualityIsMeasuredOverSets) {
  const LabelledScores good[] = {Ratios(1, 40, 1), Ratios(2, 30, 1)};
  const LabelledScores loud[] = {Ratios(1, 40, 2), Ratios(2, 30, 2)};
  const auto fine = MeasureEvidence(good, {.replicates = 200});
  const auto over = MeasureEvidence(loud, {.replicates = 200});
  ASSERT_TRUE(fine.ok()) << fine.status();
  ASSERT_TRUE(over.ok()) << over.status();
  EXPECT_NEAR(fine->cllr.value, *Cllr(*PoolScores(good)), 1e-12);
  EXPECT_NEAR(fine->minimum.value, *MinimumCllr(*PoolScores(good)), 1e-12);
  EXPECT_NEAR(over->minimum.value, fine->minimum.value, 1e-12);
  EXPECT_LT(fine->loss.hi, 0.05);
  for (const auto* quality : {&*fine, &*over}) {
    for (const Estimate& e : {quality->minimum, quality->loss}) {
      EXPECT_LT(e.lo, e.value);
      EXPECT_GT(e.hi, e.value);
    }
  }
  EXPECT_GT(over->loss.lo, fine->loss.hi);
  EXPECT_LT(fine->cllr.lo, fine->cllr.value);
  EXPECT_GT(fine->cllr.hi, fine->cllr.value);
  // Where both kinds are frequent, the observed evidence is the stated evidence, or half of it for
  // the overstated ratios.
  int seen = 0;
  for (const EvidenceBin& bin : fine->reliability) {
    if (bin.genuine < 20 || bin.impostor < 20) continue;
    ++seen;
    EXPECT_NEAR(bin.observed, bin.stated, 0.6);
    EXPECT_LE(bin.lo, bin.observed);
    EXPECT_GE(bin.hi, bin.observed);
  }
  EXPECT_GE(seen, 2);
  for (const EvidenceBin& bin : over->reliability) {
    if (bin.genuine < 20 || bin.impostor < 20) continue;
    EXPECT_NEAR(bin.observed, bin.stated / 2, 0.6);
  }
}

TEST(Evidence, NoScoresAndInfiniteOnesAreRefused) {
  LabelledScores scores = Ratios(1, 3, 1);
  EXPECT_FALSE(MeasureEvidence(std::span<const LabelledScores>()).ok());
  scores.scores(0, 1) = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(MeasureEvidence(std::span(&scores, 1)).ok());
}

}  // namespace
}  // namespace heft
