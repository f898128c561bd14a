// SPDX-License-Identifier: Apache-2.0
#include "learning/score_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "features/random.h"
#include "learning/baselines.h"

namespace heft {
namespace {

// Scores of one modality: normal, unit deviation, means `apart`.
ScoreSet Normal(Random& random, double apart, double deviation = 1) {
  ScoreSet set;
  for (int i = 0; i < 20000; ++i) set.genuine.push_back(deviation * (random.Normal() + apart));
  for (int i = 0; i < 20000; ++i) set.impostor.push_back(deviation * random.Normal());
  return set;
}

// Independent normal scores: the best weights are mean difference over variance.
TEST(FitWeights, KnownAnswerOfNormalScores) {
  Random random(7);
  const ScoreSet one = Normal(random, 1), two = Normal(random, 0.5, 0.1);
  const auto weights = FitWeights(std::vector<ScoreSet>{one, two});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ((*weights)[0], 1);
  EXPECT_NEAR((*weights)[1], 0.5 / 0.1, 0.5);
}

TEST(FitWeights, NoWeightIsNegative) {
  Random random(8);
  const ScoreSet good = Normal(random, 2), reversed = Normal(random, -1);
  auto weights = FitWeights(std::vector<ScoreSet>{good, reversed});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(*weights, (std::vector<double>{1, 0}));
  weights = FitWeights(std::vector<ScoreSet>{reversed, good});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(*weights, (std::vector<double>{0, 1})) << "then the largest is 1";
  EXPECT_FALSE(FitWeights(std::vector<ScoreSet>{good, {{1}, {0}}}).ok());
}

// A few comparisons that a threshold parts have no best weights but for the ridge.
TEST(FitWeights, FewComparisonsGiveFiniteWeights) {
  Random random(9);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<ScoreSet> scores(1 + trial % 4);
    for (ScoreSet& set : scores) {
      for (int i = 0; i < 1 + trial % 7; ++i) set.genuine.push_back(0.8 + 0.1 * random.Normal());
      for (int i = 0; i < 5 + trial % 31; ++i) set.impostor.push_back(0.3 * random.Normal());
    }
    const auto weights = FitWeights(scores);
    ASSERT_TRUE(weights.ok()) << weights.status();
    double largest = 0;
    for (double weight : *weights) {
      EXPECT_TRUE(std::isfinite(weight) && weight >= 0) << weight << " in trial " << trial;
      largest = std::max(largest, weight);
    }
    EXPECT_GE(largest, 1) << trial;
  }
}

// 0.9 and 0.1 in one modality, 0.7 and 0.3 in the other: by symmetry the better one counts twice.
TEST(FitWeights, KnownAnswerWhereAThresholdPartsAll) {
  const auto weights = FitWeights(std::vector<ScoreSet>{{{0.9}, {0.1}}, {{0.7}, {0.3}}});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_NEAR((*weights)[1], 0.5, 1e-3);
}

Dataset PeopleOf(int identities, std::vector<int> dimensions = {24, 16}) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = identities;
  options.samples_per_identity = 4;
  options.dimensions = std::move(dimensions);
  return *SynthesiseDataset(options);
}

TEST(ScoreBaselines, SumIsOfRawCosinesByTheWeights) {
  const Dataset data = PeopleOf(30);
  const auto fit = FitScoreWeights(data);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->equal_because, "");
  EXPECT_NE(fit->weights[1], 1);
  const auto sum = SumOfScores(data, Split::kTest);
  const auto face = ModalityScores(data, Split::kTest, 0);
  const auto voice = ModalityScores(data, Split::kTest, 1);
  const auto both = ConcatenationScores(data, Split::kTest);
  ASSERT_TRUE(sum.ok() && face.ok() && voice.ok() && both.ok());
  EXPECT_TRUE(sum->scores.isApprox(face->scores + fit->weights[1] * voice->scores, 1e-12));
  EXPECT_TRUE(both->scores.isApprox((face->scores + voice->scores) / 2, 1e-12));
}

TEST(ScoreBaselines, WithoutTrainingPeopleSayWhatIsMissing) {
  Dataset data = PeopleOf(10);
  data.split.assign(data.split.size(), Split::kTest);
  const auto fit = FitScoreWeights(data);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->weights, (std::vector<double>{1, 1}));
  EXPECT_EQ(fit->equal_because, "no training people");
  const auto baselines = ScoreBaselines(data, Split::kTest, 8);
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  for (const Baseline& baseline : *baselines) {
    const bool trained = baseline.name == "pca" || baseline.name == "lda";
    EXPECT_EQ(baseline.unavailable, trained ? "no training people" : "") << baseline.name;
    EXPECT_EQ(baseline.scored.identities.empty(), trained) << baseline.name;
    EXPECT_EQ(baseline.note,
              baseline.name == "score_sum" ? "equal weights: no training people" : "");
  }
  EXPECT_FALSE(ScoreBaselines(data, Split::kTrain, 8).ok());
}

}  // namespace
}  // namespace heft
