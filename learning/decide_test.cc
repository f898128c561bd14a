// SPDX-License-Identifier: Apache-2.0
// Cross-fitting, the decisions from it, and whether fusion is worth it.
#include "learning/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "learning/fusion_gain.h"
#include "learning/recipe.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

Dataset JitteredPeople(int identities = 40, std::vector<double> jitter = {0.7, 0.7}) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = identities;
  options.samples_per_identity = 4;
  options.dimensions = {24, 16};
  options.factors->rank_identity = 8;
  options.factors->jitter = std::move(jitter);
  return *SynthesiseDataset(options);
}

TrainOptions QuickTraining() {
  TrainOptions options;
  options.gamma = 8;
  options.epochs = 2;
  return options;
}

absl::StatusOr<CrossFit> Fit(const Dataset& dataset, const TrainOptions& options = QuickTraining(),
                             int epochs = 0) {
  if (CrossFitParts(DevelopmentPeople(dataset)) < 2) {
    HEFT_ASSIGN_OR_RETURN(const TrainResult shipped, Train(dataset, options));
    return OfValidationPeople(dataset, shipped);
  }
  HEFT_ASSIGN_OR_RETURN(CrossFit fit, FitAcross({}, dataset, options, epochs, ""));
  HEFT_ASSIGN_OR_RETURN(const Eigen::VectorXd norms, HeldOutNorms(fit, options));
  HEFT_ASSIGN_OR_RETURN(const Normaliser normaliser, FitInterval(norms, options));
  HEFT_RETURN_IF_ERROR(SetIntervals(normaliser, fit));
  return fit;
}

std::set<std::string> Named(const CrossFit& fit, size_t part, Split split) {
  std::set<std::string> names;
  for (int row : RowsOf(fit.splits[part], split)) names.insert(fit.people.labels[row]);
  return names;
}

// Epochs of many samples take time, so a fold leaves out one part.
TEST(CrossFitTest, WithEpochsOfManySamplesEachPersonIsLeftOutOnce) {
  constexpr int kPeople = 520;
  const Dataset dataset = JitteredPeople(kPeople);
  const auto fit = Fit(dataset, QuickTraining(), 1);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_FALSE(fit->too_few);
  EXPECT_FALSE(fit->across);
  ASSERT_EQ(fit->splits.size(), static_cast<size_t>(recipe::kParts));
  std::set<std::string> judged, test;
  for (int row : RowsOf(dataset.split, Split::kTest)) test.insert(dataset.labels[row]);
  for (size_t part = 0; part < fit->splits.size(); ++part) {
    EXPECT_TRUE(CheckIdentitySplit(fit->people.labels, fit->splits[part]).ok());
    EXPECT_FALSE(Named(*fit, part, Split::kTrain).empty());
    EXPECT_TRUE(Named(*fit, part, Split::kValidation).empty()) << "the epoch is given";
    for (const std::string& name : Named(*fit, part, Split::kTest)) {
      EXPECT_TRUE(judged.insert(name).second) << name << " is in two parts";
    }
  }
  EXPECT_EQ(judged.size() + test.size(), size_t{kPeople});
  for (const std::string& name : test) EXPECT_EQ(judged.count(name), 0u);
  EXPECT_NE(fit->results[0].projection, fit->results[1].projection);
  const auto scores = fit->Scores();
  ASSERT_TRUE(scores.ok());
  size_t rows = 0;
  for (const LabelledScores& set : *scores) rows += set.identities.size();
  EXPECT_EQ(rows, judged.size() * 4);
}

TEST(CrossFitTest, InClosedFormAllPeopleAreComparedByModelsOfOthers) {
  const Dataset dataset = JitteredPeople();
  const auto fit = Fit(dataset);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_TRUE(fit->across);
  constexpr size_t kParts = 2 * recipe::kParts;
  ASSERT_EQ(fit->splits.size(), kParts * (kParts - 1) / 2);
  std::set<std::string> test;
  for (int row : RowsOf(dataset.split, Split::kTest)) test.insert(dataset.labels[row]);
  std::set<std::pair<std::string, std::string>> compared;
  for (size_t fold = 0; fold < fit->splits.size(); ++fold) {
    EXPECT_TRUE(CheckIdentitySplit(fit->people.labels, fit->splits[fold]).ok());
    const std::set<std::string> left_out = Named(*fit, fold, Split::kTest);
    EXPECT_NEAR(left_out.size(), 32.0 / recipe::kParts, 2) << "as many as of one of kParts parts";
    for (const std::string& a : left_out) {
      EXPECT_EQ(test.count(a), 0u);
      for (const std::string& b : left_out) compared.insert({a, b});
    }
  }
  EXPECT_EQ(compared.size(), 32u * 32);
  const auto scores = fit->Scores();
  ASSERT_TRUE(scores.ok());
  ASSERT_EQ(scores->size(), 1u);
  EXPECT_EQ((*scores)[0].identities, IdentityNumbers(fit->people.labels));
  // A comparison is of the first fold that leaves out both people.
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 60}, {100, 31}, {127, 126}}) {
    size_t fold = 0;
    while (fit->splits[fold][a] != Split::kTest || fit->splits[fold][b] != Split::kTest) ++fold;
    const FeatureMatrix z = ProjectAndNormalise(fit->results[fold].projection,
                                                *Concatenate(fit->people, std::vector<int>{a, b}),
                                                {fit->results[fold].approximation, 1.0});
    EXPECT_NEAR((*scores)[0].scores(a, b), z.row(0).dot(z.row(1)), 1e-9) << a << ", " << b;
  }
}

// What happens to test people must not reach a model: their vectors are replaced by others.
TEST(CrossFitTest, TestPeopleTakePartInNothing) {
  Dataset dataset = JitteredPeople();
  const auto before = Decide(*Fit(dataset), ProbeLength::kExact, 1);
  for (int row : RowsOf(dataset.split, Split::kTest)) {
    for (Modality& m : dataset.modalities) m.features.row(row).setRandom();
  }
  const auto after = Decide(*Fit(dataset), ProbeLength::kExact, 1);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->tables, after->tables);
  EXPECT_EQ(before->summary, after->summary);
}

TEST(CrossFitTest, FewerPartsForFewerPeople) {
  const auto fewer = Fit(JitteredPeople(14));  // 11 for training and validation
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_EQ(fewer->splits.size(), 6u) << "every two of four parts";
  for (int identities : {11, 12, 13}) {
    EXPECT_EQ(Fit(JitteredPeople(identities))->splits.size(), 6u);
    EXPECT_EQ(Fit(JitteredPeople(identities), QuickTraining(), 1)->splits.size(), 6u)
        << "with an epoch";
  }
  const auto none = Fit(JitteredPeople(8));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->too_few);
  const auto decisions = Decide(*none, ProbeLength::kExact, 1);
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  EXPECT_THAT(decisions->summary["threshold_warning"].get<std::string>(),
              HasSubstr("validation people"));
  ASSERT_EQ(decisions->tables.size(), 3u);
  for (const DecisionTable& table : decisions->tables) {
    EXPECT_TRUE(table.searches.empty());
    EXPECT_FALSE(table.thresholds.empty());
  }
}

TEST(CrossFitTest, PeopleOfAllPartsChooseTheNumberOfEpochs) {
  Dataset dataset = JitteredPeople();
  TrainOptions options = QuickTraining();
  options.epochs = 3;
  options.patience = 100;
  const auto choose = [&](int stop_after = 100) {
    int steps = 0;
    const Monitor monitor = [&](const ProgressEvent& event) {
      steps += event.what == "judging epochs" && event.total == 3;
      return steps < stop_after;
    };
    const absl::StatusOr<int> epochs = EpochsAcross(monitor, dataset, options, "");
    EXPECT_EQ(steps, std::min(stop_after, 4)) << "the start and three epochs";
    return epochs;
  };
  EXPECT_EQ(choose(2).status().code(), absl::StatusCode::kCancelled);
  const int chosen = *choose();
  EXPECT_GE(chosen, 0);
  EXPECT_LE(chosen, 3);
  options.learning_rate = 1e-12;
  EXPECT_EQ(*choose(), 0) << "steps that change nothing";
  options.learning_rate = 0.01;
  options.modality_weights = {1, 100};
  EXPECT_GT(*choose(), 0) << "the start uses voices alone";
  const int improved = *choose();
  for (int row : RowsOf(dataset.split, Split::kTest)) {
    for (Modality& modality : dataset.modalities) modality.features.row(row).setOnes();
  }
  EXPECT_EQ(*choose(), improved) << "test people take no part";
}

TEST(CrossFitTest, StopsWhereTheMonitorSays) {
  const Dataset dataset = JitteredPeople();
  int steps = 0;
  const auto fit =
      FitAcross([&](const ProgressEvent&) { return ++steps < 4; }, dataset, QuickTraining(), 3, "");
  EXPECT_EQ(fit.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(steps, 4);
}

TEST(DecideTest, CurvesSearchesAndAgreement) {
  const auto fit = Fit(JitteredPeople());
  const auto decisions = Decide(*fit, ProbeLength::kExact, 1);
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  ASSERT_EQ(decisions->tables.size(), 3u) << "both, voice, face";
  for (const DecisionTable& table : decisions->tables) {
    EXPECT_GT(table.thresholds.size(), 10u);
    EXPECT_GT(table.calibration->slope, 0);
    EXPECT_EQ(table.searches.size(), 3u) << "1, 2 and 4 templates of 4 samples";
  }
  EXPECT_EQ(decisions->tables[0].modalities, 3u);
  EXPECT_EQ(decisions->tables[1].modalities, 2u);
  EXPECT_EQ(decisions->tables[2].modalities, 1u);
  ASSERT_TRUE(decisions->sample_agreement.has_value());
  EXPECT_GT(*decisions->sample_agreement, 0);
  EXPECT_LT(*decisions->sample_agreement, 1);
  EXPECT_EQ(decisions->summary["cross_fit"]["people"], 32);
}

// Probes of a fold are scored as encrypted ones are: by the probe's own norm where there are two
// rings, by the polynomial where there is one.
TEST(DecideTest, ProbesWithoutAModalityAreNormalisedAsTheProfileDoes) {
  const auto fit = *Fit(JitteredPeople());
  const auto exact = ScoresOfSet(fit, ProbeLength::kExact, 1);
  const auto approximate = ScoresOfSet(fit, ProbeLength::kApproximate, 1);
  ASSERT_TRUE(exact.ok() && approximate.ok()) << exact.status();
  ASSERT_EQ(exact->sets.size(), 1u);
  const std::vector<int> rows = RowsOf(fit.splits[0], Split::kTest);
  const FeatureMatrix probe =
      ProjectAll(fit.results[0].projection, *Concatenate(fit.people, rows, std::vector<int>{1}));
  const FeatureMatrix whole =
      ProjectAndNormalise(fit.results[0].projection, *Concatenate(fit.people, rows),
                          {fit.results[0].approximation, 1.0});
  const double raw = probe.row(0).dot(whole.row(5)), s = probe.row(0).squaredNorm();
  EXPECT_NEAR(exact->sets[0].scores(rows[0], rows[5]), raw / std::sqrt(s), 1e-9);
  EXPECT_NEAR(approximate->sets[0].scores(rows[0], rows[5]), raw * fit.results[0].approximation(s),
              1e-9);
}

// Known answers: samples of a person that are all alike, and two that are orthogonal.
TEST(SampleAgreementTest, OfKnownSamples) {
  CrossFit fit;
  fit.people.modalities = {{"a", FeatureMatrix(4, 2)}};
  FeatureMatrix& x = fit.people.modalities[0].features;
  fit.people.labels = {"p", "p", "q", "q"};
  fit.splits = {std::vector<Split>(4, Split::kTest)};
  TrainResult identity;
  identity.projection = FeatureMatrix::Identity(2, 2);
  fit.results = {identity};
  x << 1, 0, 0.6, 0.8, 0, 1, 0.8, 0.6;  // cosines 0.6 and 0.6
  EXPECT_NEAR(*SampleAgreement(fit), 0.6, 1e-12);
  fit.results[0].projection *= 7;  // of the lengths nothing is left
  EXPECT_NEAR(*SampleAgreement(fit), 0.6, 1e-12);
  x << 1, 0, 0, 1, 0, 1, 1, 0;
  EXPECT_FALSE(SampleAgreement(fit).has_value()) << "what is 0 says nothing";
  x << 1, 0, 1, 0, 0, 1, 0, 1;
  EXPECT_FALSE(SampleAgreement(fit).has_value()) << "one sample twice is not two";
}

TEST(FusionGainTest, SaysWhichSystemIsBetterAndByHowMuch) {
  // A strong modality, and a projection that sees the other only.
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 60;
  options.samples_per_identity = 4;
  options.dimensions = {24, 16};
  options.factors->rank_identity = 8;
  options.factors->jitter = {0.1, 5};
  options.factors->within = {0.2};
  options.factors->noise = {0.2};
  const Dataset dataset = *SynthesiseDataset(options);
  auto fit = *Fit(dataset);
  const auto good = MeasureFusionGain(fit, *fit.Scores());
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->modalities[good->best].name, "face");
  for (TrainResult& result : fit.results) {
    result.projection.setZero();
    result.projection.rightCols(16).topRows(8) = FeatureMatrix::Identity(8, 16);
    result.approximation.interval = {1e-3, 10};
  }
  const auto bad = MeasureFusionGain(fit, *fit.Scores());
  ASSERT_TRUE(bad.ok()) << bad.status();
  EXPECT_LT(bad->modalities[0].fused_minus.hi, 0);
  EXPECT_GT(bad->modalities[0].fnmr_minus.lo, 0);
  EXPECT_THAT(bad->Warning(), HasSubstr("FUSION IS WORSE than face alone"));
  EXPECT_THAT(bad->Warning(), HasSubstr("Use face alone"));
  const Json json = bad->ToJson();
  EXPECT_EQ(json["best_modality"], "face");
  EXPECT_EQ(json["significant"], true);
  EXPECT_EQ(json["fused_minus"]["face"]["auroc"]["value"], bad->modalities[0].fused_minus.value);
  EXPECT_EQ(json["fused_minus"]["face"]["fnmr_1e3"]["value"], bad->modalities[0].fnmr_minus.value);
  EXPECT_TRUE(json["fused_minus"].contains("concatenation"));
  EXPECT_TRUE(json["fused_minus"].contains("score_sum"));
}

TEST(FusionGainTest, WordsForALossThatMayBeChance) {
  FusionGain gain;
  gain.fnmr = 0.02;
  const auto system = [](const char* name, double fnmr, Estimate minus) {
    return SystemGain{name, {}, {}, fnmr, minus};
  };
  gain.modalities = {system("iris", 0.019, {0.001, -0.001, 0.003}),
                     system("face", 0.1, {-0.08, -0.09, -0.07})};
  EXPECT_THAT(gain.Warning(), HasSubstr("no better than iris alone: FNMR 0.02 against 0.019"));
  EXPECT_THAT(gain.Warning(), HasSubstr("may be chance"));
  gain.gamma = 128;
  EXPECT_THAT(gain.Warning(), HasSubstr("larger --gamma"));
  gain.gamma = 256;
  EXPECT_THAT(gain.Warning(), ::testing::Not(HasSubstr("larger --gamma"))) << "there is none";
  EXPECT_EQ(gain.ToJson()["significant"], false);
  gain.modalities[0].fnmr_minus = {-0.001, -0.003, 0.005};
  EXPECT_EQ(gain.Warning(), "");
  EXPECT_FALSE(gain.ToJson().contains("warning"));
  gain.rivals = {system("concatenation", 0.018, {0.002, 0.001, 0.003})};
  EXPECT_THAT(gain.Warning(), HasSubstr("FUSION IS WORSE than the plain concatenation"));
  EXPECT_THAT(gain.Warning(), HasSubstr("--method none"));
  gain.method = "none";
  EXPECT_THAT(gain.Warning(), ::testing::Not(HasSubstr("--method none"))) << "it was tried";
}

}  // namespace
}  // namespace heft
