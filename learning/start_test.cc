// SPDX-License-Identifier: Apache-2.0
// The start, its weights and the choice of gamma.
#include "learning/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/testing.h"
#include "evaluation/metrics.h"
#include "learning/choose_gamma.h"
#include "learning/decide.h"
#include "learning/parts.h"
#include "learning/recipe.h"

namespace heft {
namespace {

Dataset People(std::vector<double> jitter, std::vector<double> within, int rank = 8,
               std::vector<int> dimensions = {48, 32}) {
  SyntheticOptions options;
  options.identities = 60;
  options.samples_per_identity = 5;
  options.dimensions = std::move(dimensions);
  options.rank_identity = rank;
  options.rank_within = 10;
  options.jitter = std::move(jitter);
  options.within = std::move(within);
  return *SynthesiseDataset(options);
}

double AurocOf(const std::vector<LabelledScores>& sets) {
  double sum = 0;
  for (const LabelledScores& set : sets) {
    sum += *Auroc(*PairScores(set.scores, set.identities)) / static_cast<double>(sets.size());
  }
  return sum;
}

TEST(DealPeople, EqualPartsOfPeopleWithASecondSample) {
  std::vector<int> identities;
  for (int i = 0; i < 23; ++i) identities.push_back(i);
  for (int i = 0; i < 9; ++i) identities.push_back(2 * i);  // nine have two samples
  Random random(3);
  const std::vector<int> part = DealPeople(identities, 4, random);
  ASSERT_EQ(part.size(), 23u);
  std::vector<int> all(4), paired(4);
  for (int i = 0; i < 23; ++i) ++all[part[i]];
  for (int i = 0; i < 9; ++i) ++paired[part[2 * i]];
  EXPECT_THAT(all, ::testing::Each(::testing::AllOf(::testing::Ge(5), ::testing::Le(6))));
  EXPECT_THAT(paired, ::testing::Each(::testing::AllOf(::testing::Ge(2), ::testing::Le(3))));
}

TEST(SamplePoolTest, OnlyTheGivenPeople) {
  const auto pool = SamplePool::Make(People({0.7}, {1.6}), Split::kTrain);
  ASSERT_TRUE(pool.ok());
  const std::vector<int> identities = {7, 2, 30};
  const SamplePool some = pool->Only(identities);
  EXPECT_EQ(some.identities(), 3);
  ASSERT_EQ(some.Paired().features.rows(), 15);
  for (int i = 0; i < 3; ++i) {
    const auto& rows = some.modalities()[1].rows[i];
    const auto& whole = pool->modalities()[1].rows[identities[i]];
    ASSERT_EQ(rows.size(), whole.size());
    EXPECT_EQ(some.modalities()[1].features.row(rows[0]),
              pool->modalities()[1].features.row(whole[0]));
  }
  const std::set<int> classes(some.Paired().classes.begin(), some.Paired().classes.end());
  EXPECT_EQ(classes, (std::set<int>{0, 1, 2}));
}

TEST(FindDirectionsTest, ASmallerGammaHasTheFirstRows) {
  const auto pool = SamplePool::Make(People({0.7}, {1.6}), Split::kTrain);
  const auto large = FindDirections(*pool, 80, {0.3}), small = FindDirections(*pool, 6, {0.3});
  ASSERT_TRUE(large.ok() && small.ok());
  EXPECT_EQ(FeatureMatrix(large->rows.topRows(6)), small->rows);
  EXPECT_EQ(large->modalities.size(), 80u);
  for (Eigen::Index i = 0; i < 80; ++i) {
    const auto other = large->modalities[i] == 0 ? large->rows.row(i).tail(32).norm()
                                                 : large->rows.row(i).head(48).norm();
    EXPECT_EQ(other, 0) << "a direction is of one modality";
  }
}

TEST(StartSearchTest, WeightsHelpPeopleWhoTookNoPart) {
  // The second modality tells nearly nothing.
  const auto pool = SamplePool::Make(People({0.3, 6}, {0.5, 6}), Split::kTrain);
  TrainOptions options;
  options.gamma = 16;
  const auto search = StartSearch::Make(*pool, 16, options);
  const StartChoice best = search.Best(16, {}), equal = {{1, 1}, best.blend},
                    swapped = {{1, 16}, best.blend};
  EXPECT_EQ(best.weights[0], 1);
  EXPECT_LE(best.weights[1], 1);
  EXPECT_EQ(search.Best(16, {1, 7}).weights[1], 7) << "given weights stay";
  const double found = AurocOf(search.Scores(16, best));
  EXPECT_GT(found, 0.95);
  EXPECT_GE(found + 1e-3, AurocOf(search.Scores(16, equal)));
  EXPECT_GT(found, AurocOf(search.Scores(16, swapped)) + 0.05);
}

TEST(StartSearchTest, SamplesShowDirectionsThatFewPeopleDoNot) {
  // People differ in 64 directions, of which the means of 27 of them show 26.
  const auto pool = SamplePool::Make(People({0.8, 4}, {0.5}, 64, {96, 16}), Split::kTrain);
  TrainOptions options;
  options.gamma = 64;
  const auto search = StartSearch::Make(*pool, 64, options);
  const StartChoice best = search.Best(64, {});
  EXPECT_GT(best.blend, 0);
  EXPECT_GT(AurocOf(search.Scores(64, best)),
            AurocOf(search.Scores(64, {best.weights, 0})) + 0.003);
}

TEST(StartSearchTest, TooFewPeopleKnowNothing) {
  SyntheticOptions few;
  few.identities = 10;
  few.dimensions = {12, 12};
  const auto pool = SamplePool::Make(*SynthesiseDataset(few), Split::kTrain);
  const auto search = StartSearch::Make(*pool, 8, {});
  EXPECT_EQ(search.Best(8, {}).weights, (std::vector<double>{1, 1}));
  EXPECT_TRUE(search.Scores(8, search.Best(8, {})).empty());
}

// One person of the training split has a second sample: in three parts of four he is among the
// others, and whoever is judged has none.
TEST(StartSearchTest, PeopleWithOneSampleEach) {
  const Dataset all = People({0.7}, {1.6});
  std::map<std::string, int> seen;
  std::map<Split, std::string> chosen;
  std::vector<int> rows;
  for (int row = 0; row < all.Rows(); ++row) {
    const std::string& person = all.labels[row];
    const std::string& kept = chosen.emplace(all.split[row], person).first->second;
    if (seen[person]++ == 0 || person == kept) rows.push_back(row);
  }
  TrainOptions options;
  options.gamma = 8;
  options.epochs = 1;
  const Dataset few = SelectRows(all, rows);
  const auto result = Train(few, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->summary["modality_weights"].size(), 2u);
  const auto fit = FitAcross({}, few, options, *result, "");
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_TRUE(fit->too_few);
  const auto decisions = Decide(*fit, ProbeLength::kExact, 1);
  EXPECT_TRUE(decisions.ok()) << decisions.status();
}

TEST(ChooseGammaTest, AsManyDimensionsAsPeopleDifferIn) {
  // Four directions a modality tell people apart, then twenty.
  const auto low = ChooseGamma(People({0.5}, {1.2}, 4), {}, GammaCandidates(80));
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_EQ(low->gamma, 16);
  ASSERT_EQ(low->trials.size(), 3u) << "16, 32 and 64 of 80 dimensions";
  const auto high = ChooseGamma(People({1.2}, {0.7}, 20), {}, GammaCandidates(80));
  ASSERT_TRUE(high.ok());
  EXPECT_GT(high->gamma, 16);
  // Whatever is smaller has been shown to be worse.
  for (const GammaTrial& trial : high->trials) {
    if (trial.gamma >= high->gamma) continue;
    EXPECT_LT(trial.minus_best.hi, 0) << trial.gamma;
  }
  EXPECT_EQ(high->ToJson()["gamma"], high->gamma);
  EXPECT_THAT(high->Reason(), ::testing::HasSubstr("16: "));
}

TEST(ChooseGammaTest, WhatDimensionsPeopleAndRecipeLeave) {
  EXPECT_EQ(GammaCandidates(1024), (std::vector<int>{16, 32, 64, 128, 256}));
  EXPECT_EQ(GammaCandidates(16), (std::vector<int>{16}));
  EXPECT_EQ(GammaCandidates(11), (std::vector<int>{8}));
  TrainOptions paper;
  paper.recipe = Recipe::kPaper;
  EXPECT_EQ(ChooseGamma(People({0.7}, {1.6}), paper, GammaCandidates(80))->gamma,
            recipe::kPaperGamma);
  const int told[] = {64};
  EXPECT_EQ(ChooseGamma(People({0.7}, {1.6}), {}, told)->gamma, 64);
  SyntheticOptions few;
  few.identities = 10;
  few.dimensions = {40, 40};
  EXPECT_EQ(ChooseGamma(*SynthesiseDataset(few), {}, GammaCandidates(80))->gamma, 32);
}

}  // namespace
}  // namespace heft
