// SPDX-License-Identifier: Apache-2.0
#include "learning/decision_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "learning/recipe.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// People of 4 samples each: scores of genuine comparisons around `genuine`, of others around 0.
ProbeScores Scores(uint32_t modalities, int people, double genuine) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.1);
  LabelledScores set;
  for (int i = 0; i < 4 * people; ++i) set.identities.push_back(i / 4);
  set.scores.resize(4 * people, 4 * people);
  for (int i = 0; i < 4 * people; ++i) {
    for (int j = 0; j < 4 * people; ++j) {
      set.scores(i, j) = (i / 4 == j / 4 ? genuine : 0) + noise(random);
    }
  }
  return {modalities, {set}};
}

TEST(DecisionTablesTest, EachSetOfProbesHasItsOwnThresholds) {
  const auto whole = FitDecisionTable(Scores(3, 40, 0.8), 1, true);
  const auto part = FitDecisionTable(Scores(1, 40, 0.4), 1, true);
  ASSERT_TRUE(whole.ok() && part.ok()) << whole.status() << part.status();
  EXPECT_EQ(whole->modalities, 3u);
  EXPECT_EQ(part->modalities, 1u);
  ASSERT_FALSE(whole->thresholds.empty());
  EXPECT_LT(whole->thresholds[15].fnmr, part->thresholds[15].fnmr);
  ASSERT_TRUE(part->calibration.has_value());
  EXPECT_GT(part->calibration->LogLikelihoodRatio(0.4),
            whole->calibration->LogLikelihoodRatio(0.4));
  ASSERT_EQ(whole->searches.size(), 3u) << "1, 2 and 4 templates of 4 samples";
  EXPECT_EQ(whole->searches[2].templates, 4u);
  EXPECT_EQ(whole->searches[0].replicates.size(), static_cast<size_t>(recipe::kDecisionReplicates));
  EXPECT_EQ(*FitDecisionTable(Scores(1, 40, 0.4), 1, true), *part) << "the seed decides";
}

TEST(DecisionTablesTest, SearchesNeedPeopleAndAreOptional) {
  EXPECT_THAT(FitDecisionTable(Scores(1, 40, 0.5), 1, false)->searches, IsEmpty());
  const auto few = FitDecisionTable(Scores(1, 9, 0.5), 1, true);
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_THAT(few->searches, IsEmpty());
  EXPECT_FALSE(few->thresholds.empty());
}

TEST(DecisionTablesTest, RefusesProbesOfNothing) {
  EXPECT_EQ(FitDecisionTable(Scores(0, 20, 0.5), 1, true).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FitDecisionTable({1, {}}, 1, true).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FitDecisionTable(Scores(1, 1, 0.5), 1, true).ok()) << "no impostor";
}

TEST(DecisionTablesTest, SetsThatGetATable) {
  EXPECT_THAT(ProbeSets(1), ElementsAre(1));
  EXPECT_THAT(ProbeSets(2), ElementsAre(3, 2, 1));
  EXPECT_EQ(ProbeSets(4).size(), 15u);
  EXPECT_THAT(ProbeSets(5), ElementsAre(31, 30, 29, 27, 23, 15, 1, 2, 4, 8, 16));
  EXPECT_EQ(ProbeSets(8).size(), 17u);
  EXPECT_THAT(MissingModalities(0b101, 4), ElementsAre(1, 3));
  EXPECT_THAT(MissingModalities(0b11, 2), IsEmpty());
}

}  // namespace
}  // namespace heft
