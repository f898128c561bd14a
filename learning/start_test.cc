// SPDX-License-Identifier: Apache-2.0
// The start, its weights and the choice of gamma.
#include "learning/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/testing.h"
#include "evaluation/metrics.h"
#include "learning/baselines.h"
#include "learning/choose_system.h"
#include "learning/cross_fit.h"
#include "learning/decide.h"
#include "learning/parts.h"
#include "learning/recipe.h"

namespace heft {
namespace {

Dataset SpreadPeople(std::vector<double> jitter, std::vector<double> within, int rank = 8,
                     std::vector<int> dimensions = {48, 32}) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 60;
  options.samples_per_identity = 5;
  options.dimensions = std::move(dimensions);
  options.factors->rank_identity = rank;
  options.factors->rank_within = 10;
  options.factors->jitter = std::move(jitter);
  options.factors->within = std::move(within);
  return *SynthesiseDataset(options);
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
  const auto pool = SamplePool::Make(SpreadPeople({0.7}, {1.6}), Split::kTrain);
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

StartChoice Learned(std::vector<double> weights = {1, 1}) {
  return {Method::kLearned, std::vector<double>(weights.size(), 0.3), 0.5, 0.25, weights};
}

TEST(BuildStartTest, TakesTheDirectionsOfTheLargestVariance) {
  const auto pool = SamplePool::Make(SpreadPeople({0.7}, {1.6}), Split::kTrain);
  const auto large = BuildStart(*pool, 80, Learned()), small = BuildStart(*pool, 6, Learned());
  ASSERT_TRUE(large.ok() && small.ok());
  EXPECT_TRUE(FeatureMatrix(large->topRows(6)).isApprox(*small, 1e-9));
  const FeatureMatrix samples = pool->Paired().features;
  double last = INFINITY;
  for (Eigen::Index i = 0; i < 80; ++i) {
    const bool face = large->row(i).head(48).norm() > 0;
    EXPECT_EQ(face ? large->row(i).tail(32).norm() : large->row(i).head(48).norm(), 0)
        << "a direction is of one modality";
    const Eigen::VectorXd z = samples * large->row(i).transpose();
    const double variance = (z.array() - z.mean()).square().mean();
    EXPECT_LT(variance, 3 * last) << "row " << i << ": roughly falling";
    last = variance;
  }
  // A heavier modality has more of the first directions, but not the least share of the other.
  StartChoice weighty = Learned({1, 8});
  EXPECT_EQ(BuildStart(*pool, 10, weighty)->leftCols(48).norm(), 0);
  weighty.least_share = 0.4;
  const FeatureMatrix shared = *BuildStart(*pool, 10, weighty);
  EXPECT_EQ((shared.leftCols(48).rowwise().norm().array() > 0).count(), 2);
  EXPECT_EQ((shared.rowwise().norm().array() > 0).count(), 10);
}

// Whitening of 1 makes the variance of all directions equal. 0 leaves the within-class variance
// at 1.
TEST(BuildStartTest, WhiteningEvensVariances) {
  const auto pool = SamplePool::Make(SpreadPeople({0.7}, {1.6}), Split::kTrain);
  const auto spread = [&](double whitening) {
    StartChoice choice = Learned();
    choice.whitening = whitening;
    const FeatureMatrix z = pool->Paired().features * BuildStart(*pool, 8, choice)->transpose();
    const Eigen::VectorXd variances =
        (z.rowwise() - z.colwise().mean()).colwise().squaredNorm().transpose();
    return variances.maxCoeff() / variances.minCoeff();
  };
  EXPECT_GT(spread(0), spread(0.5));
  EXPECT_GT(spread(0.5), spread(1));
}

TEST(BuildStartTest, TheConcatenationIsAnIsometryPaddedWithZeros) {
  const auto pool = SamplePool::Make(SpreadPeople({0.7}, {1.6}), Split::kTrain);
  StartChoice none = Learned({1, 1});
  none.method = Method::kNone;
  const auto rows = BuildStart(*pool, 128, none);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(FeatureMatrix(rows->topRows(80)), FeatureMatrix(FeatureMatrix::Identity(80, 80)));
  EXPECT_TRUE(rows->bottomRows(48).isZero());
  none.weights = {1, 0.5};
  EXPECT_EQ((*BuildStart(*pool, 128, none))(79, 79), 0.5);
  const absl::Status small = BuildStart(*pool, 64, none).status();
  EXPECT_THAT(std::string(small.message()), ::testing::HasSubstr("method pca"));
}

// Principal components need no labels, and the mean that all samples share is gone.
TEST(BuildStartTest, PrincipalComponentsWithoutTheMean) {
  Dataset people = SpreadPeople({0.7}, {1.6});
  people.modalities[0].features.rowwise() += 3 * Eigen::RowVectorXd::Ones(48);
  const auto pool = SamplePool::Make(people, Split::kTrain);
  StartChoice pca = Learned();
  pca.method = Method::kPca;
  const auto rows = BuildStart(*pool, 16, pca);
  ASSERT_TRUE(rows.ok()) << rows.status();
  const Eigen::RowVectorXd mean = pool->modalities()[0].features.colwise().mean();
  EXPECT_NEAR((rows->leftCols(48) * mean.transpose()).norm(), 0, 1e-9 * rows->norm());
}

// SpreadPeople known by one modality alone are further classes of it, and help people who took no
// part.
TEST(BuildStartTest, FurtherPeopleHelp) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 300;
  options.samples_per_identity = 4;
  options.dimensions = {48};
  options.factors->rank_identity = 24;
  options.factors->rank_within = 16;
  options.factors->within = {2.2};
  options.factors->jitter = {0.5};
  const Dataset all = *SynthesiseDataset(options);
  std::vector<int> first, others;  // 30 people, of which 15 are tested, and the rest
  for (int row = 0; row < all.Rows(); ++row) (row < 120 ? first : others).push_back(row);
  Dataset few = SelectRows(all, first);
  for (int row = 0; row < 120; ++row) few.split[row] = row < 60 ? Split::kTrain : Split::kTest;
  const auto auroc = [&] {
    const auto pool = SamplePool::Make(few, Split::kTrain);
    const auto rows = BuildStart(*pool, 24, Learned({1}));
    return *Auroc(*PairScores(LearnedScores(few, Split::kTest, *rows)->scores,
                              LearnedScores(few, Split::kTest, *rows)->identities));
  };
  const double alone = auroc();
  const Dataset rest = SelectRows(all, others);
  few.unpaired.push_back({{"face", rest.modalities[0].features}, rest.labels});
  EXPECT_GT(auroc(), alone + 0.01);
  // Those who are tested never train, whatever unpaired/ holds.
  few.unpaired[0] = {{"face", few.modalities[0].features}, few.labels};
  EXPECT_TRUE(SamplePool::Make(few, Split::kTrain)->modalities()[0].further_classes.empty());
  // One sample is no class.
  few.unpaired[0] = {{"face", rest.modalities[0].features.topRows(1)}, {rest.labels[0]}};
  EXPECT_TRUE(SamplePool::Make(few, Split::kTrain)->modalities()[0].further_classes.empty());
}

TEST(CrossFitTest, UnpairedSamplesOfTestPeopleNeverTrain) {
  Dataset people = SpreadPeople({0.7}, {1.6});
  people.unpaired.push_back({{"face", people.modalities[0].features}, people.labels});
  const Dataset development = DevelopmentPeople(people);
  const std::set<std::string> paired(development.labels.begin(), development.labels.end());
  ASSERT_EQ(development.unpaired.size(), 1u);
  for (const std::string& label : development.unpaired[0].labels)
    EXPECT_TRUE(paired.contains(label));
  EXPECT_LT(development.unpaired[0].labels.size(), people.labels.size());
}

TEST(StartSearchTest, WeightsHelpPeopleWhoTookNoPart) {
  // The second modality tells nearly nothing.
  const auto pool = SamplePool::Make(SpreadPeople({0.3, 6}, {0.5, 6}), Split::kTrain);
  TrainOptions options;
  options.gamma = 16;
  auto search = StartSearch::Make(*pool, 16, options);
  const StartChoice best = search.Best(16, DefaultStart(options, *pool));
  EXPECT_EQ(best.weights[0], 1);
  EXPECT_LE(best.weights[1], 1);
  StartChoice equal = best, swapped = best;
  equal.weights = {1, 1};
  swapped.weights = {1, 16};
  const double found = search.Measure(16, best).fnmr;
  EXPECT_LE(found, search.Measure(16, equal).fnmr + 0.05);
  EXPECT_LT(found + 0.05, search.Measure(16, swapped).fnmr);
  options.modality_weights = {1, 7};
  options.shrinkage = 0.45;
  auto fixed = StartSearch::Make(*pool, 16, options);
  const StartChoice given = fixed.Best(16, DefaultStart(options, *pool));
  EXPECT_EQ(given.weights[1], 7) << "given weights stay";
  EXPECT_EQ(given.shrinkages, (std::vector<double>{0.45, 0.45}));
}

TEST(StartSearchTest, TooFewPeopleKnowNothing) {
  SyntheticOptions few;
  few.factors.emplace();
  few.identities = 10;
  few.dimensions = {12, 12};
  const auto pool = SamplePool::Make(*SynthesiseDataset(few), Split::kTrain);
  auto search = StartSearch::Make(*pool, 8, {});
  EXPECT_TRUE(search.KnowsNothing());
  EXPECT_EQ(search.Best(8, DefaultStart({}, *pool)), DefaultStart({}, *pool));
  EXPECT_EQ(search.Measure(8, DefaultStart({}, *pool)).fnmr, 1);
}

// One person of the training split has a second sample. In three parts of four this person is among
// the others, and the judged people have none.
TEST(StartSearchTest, PeopleWithOneSampleEach) {
  const Dataset all = SpreadPeople({0.7}, {1.6});
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
  EXPECT_LT(CrossFitParts(DevelopmentPeople(few)), 2);
  const CrossFit fit = OfValidationPeople(few, *result);
  EXPECT_TRUE(fit.too_few);
  const auto decisions = Decide(fit, ProbeLength::kExact, 1);
  EXPECT_TRUE(decisions.ok()) << decisions.status();
}

SystemChoice Chosen(const Dataset& dataset, const TrainOptions& options = {},
                    std::vector<int> gammas = GammaCandidates(80), bool method = true) {
  return *ChooseSystem(dataset, options, {.gammas = gammas, .method = method});
}

TEST(ChooseSystemTest, AsManyDimensionsAsPeopleDifferIn) {
  // Four directions a modality tell people apart, then twenty.
  const SystemChoice low = Chosen(SpreadPeople({0.5}, {1.2}, 4), {}, GammaCandidates(80), false);
  EXPECT_EQ(low.gamma, 16);
  ASSERT_EQ(low.trials.size(), 3u) << "16, 32 and 64 of 80 dimensions";
  const SystemChoice high = Chosen(SpreadPeople({1.2}, {0.7}, 20), {}, GammaCandidates(80), false);
  EXPECT_GT(high.gamma, 16);
  // Whatever is smaller has been shown to be worse.
  for (const SystemTrial& trial : high.trials) {
    if (trial.gamma < high.gamma) {
      EXPECT_GT(trial.minus_best.value, 0) << trial.gamma;
    }
  }
  EXPECT_EQ(high.ToJson()["gamma"], high.gamma);
  EXPECT_THAT(high.Reason(), ::testing::HasSubstr("16: "));
}

// Each person is a centre, and samples are spread alike in all directions: there is nothing to
// learn, and few people show few of the directions in which they differ.
TEST(ChooseSystemTest, FallsBackWhereThereIsNothingToLearn) {
  Random random(7);
  Dataset people;
  people.modalities = {{"face", FeatureMatrix(160, 128)}, {"voice", FeatureMatrix(160, 128)}};
  for (int row = 0; row < 160; ++row) {
    people.labels.push_back(std::to_string(row / 4));
    people.split.push_back(Split::kTrain);
  }
  for (Modality& modality : people.modalities) {
    for (int person = 0; person < 40; ++person) {
      Eigen::RowVectorXd centre(128);
      for (double& x : centre) x = random.Normal();
      for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 128; ++k) {
          modality.features(4 * person + i, k) = centre[k] + 0.8 * random.Normal();
        }
      }
    }
  }
  const SystemChoice choice = Chosen(people, {}, GammaCandidates(256));
  double none = 1, taken = 1;
  for (const SystemTrial& trial : choice.trials) {
    if (trial.start.method == Method::kNone) none = trial.error.fnmr;
    if (trial.start == choice.start && trial.gamma == choice.gamma) taken = trial.error.fnmr;
  }
  EXPECT_LE(taken, none + 1e-3) << "never worse than no training";
  if (choice.start.method != Method::kLearned) {
    EXPECT_NE(choice.fallback, "");
  }
}

TEST(ChooseSystemTest, WhatDimensionsPeopleAndRecipeLeave) {
  EXPECT_EQ(GammaCandidates(1024), (std::vector<int>{16, 32, 64, 128, 256}));
  EXPECT_EQ(GammaCandidates(16), (std::vector<int>{16}));
  EXPECT_EQ(GammaCandidates(11), (std::vector<int>{8}));
  EXPECT_EQ(PaddedDimension(640), 1024);
  EXPECT_EQ(PaddedDimension(256), 256);
  TrainOptions paper;
  paper.recipe = Recipe::kPaper;
  EXPECT_EQ(Chosen(SpreadPeople({0.7}, {1.6}), paper).gamma, recipe::kPaperGamma);
  EXPECT_EQ(Chosen(SpreadPeople({0.7}, {1.6}), {}, {64}).gamma, 64);
  SyntheticOptions few;
  few.factors.emplace();
  few.identities = 10;
  few.dimensions = {40, 40};
  const SystemChoice alone = Chosen(*SynthesiseDataset(few));
  EXPECT_EQ(alone.gamma, 128) << "80 dimensions, padded";
  EXPECT_EQ(alone.start.method, Method::kNone) << "nothing shows that learning wins";
  EXPECT_THAT(alone.fallback, ::testing::HasSubstr("too few people"));
  TrainOptions learned;
  EXPECT_EQ(Chosen(*SynthesiseDataset(few), learned, GammaCandidates(80), false).gamma, 32);
  EXPECT_EQ(Chosen(*SynthesiseDataset(few), {}, {16}).start.method, Method::kLearned);
  // Without labels: as many components as hold the variance.
  Dataset unlabelled = SpreadPeople({0.7}, {1.6}, 4);
  for (size_t i = 0; i < unlabelled.labels.size(); ++i) unlabelled.labels[i] = std::to_string(i);
  std::ranges::fill(unlabelled.split, Split::kTrain);
  TrainOptions pca;
  pca.method = Method::kPca;
  const SystemChoice choice = Chosen(unlabelled, pca, GammaCandidates(80), false);
  EXPECT_EQ(choice.start.method, Method::kPca);
  EXPECT_GE(choice.gamma, 16);
}

}  // namespace
}  // namespace heft
