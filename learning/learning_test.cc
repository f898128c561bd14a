// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>
#include <set>

#include "base/threads.h"
#include "features/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learning/baselines.h"
#include "learning/discriminant.h"
#include "learning/loss.h"
#include "learning/train.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

Dataset Small(std::vector<int> dimensions = {48, 32}, uint64_t seed = 1) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 60;
  options.samples_per_identity = 5;
  options.dimensions = std::move(dimensions);
  options.factors->rank_identity = 8;
  options.factors->rank_within = 10;
  options.factors->within = {1.6};
  options.factors->jitter = {0.7};
  options.seed = seed;
  return *SynthesiseDataset(options);
}

double TestAuroc(const LabelledScores& set) {
  return *Auroc(*PairScores(set.scores, set.identities));
}

TrainOptions Quick(int gamma = 8) {
  TrainOptions options;
  options.gamma = gamma;
  options.epochs = 12;
  return options;
}

TEST(FitIntervalTest, MovesAWideIntervalDownToTheRoomThatThereIs) {
  Eigen::VectorXd norms(100);
  for (int i = 0; i < 100; ++i) norms[i] = std::exp(0.05 * (i - 50));  // e^-2.5 ... e^2.45
  TrainOptions options = Quick();
  const auto wide = FitInterval(norms, options);
  ASSERT_TRUE(wide.ok());
  const Interval free = wide->approximation->interval;
  ASSERT_GT(free.hi, 4);
  EXPECT_NEAR(free.lo * free.hi, 1, 1e-9) << "the middle is 1 where there is room";
  options.largest_norm = 3.5;
  const auto fitted = FitInterval(norms, options);
  ASSERT_TRUE(fitted.ok());
  const Interval moved = fitted->approximation->interval;
  EXPECT_NEAR(moved.hi, 3.5, 1e-9);
  EXPECT_NEAR(moved.hi / moved.lo, free.hi / free.lo, 1e-6) << "the same samples are inside";
  EXPECT_NEAR(fitted->gain * fitted->gain / (wide->gain * wide->gain), moved.hi / free.hi, 1e-9);
  EXPECT_NEAR(fitted->approximation->MaxRelativeError(), wide->approximation->MaxRelativeError(),
              1e-6)
      << "the approximation is as good";
}

TEST(Adam, FirstStepsByHand) {
  // The first step of Adam is learning_rate * sign(gradient) whatever the gradient's size.
  FeatureMatrix parameter(1, 2), gradient(1, 2);
  parameter << 1, 1;
  gradient << 100, -1e-3;
  AdamOptions options;
  options.weight_decay = 0;
  AdamState state;
  AdamStep(options, gradient, parameter, state);
  EXPECT_NEAR(parameter(0, 0), 1 - 5e-3, 1e-9);
  EXPECT_NEAR(parameter(0, 1), 1 + 5e-3, 1e-7);
  // A quadratic's minimum is found.
  for (int i = 0; i < 4000; ++i) AdamStep(options, parameter * 2.0, parameter, state);
  EXPECT_LT(parameter.norm(), 1e-2);
}

TEST(LdaTest, FindsTheOnlyDiscriminatingDirection) {
  Random random(1);
  FeatureMatrix x(300, 5);
  std::vector<int> classes;
  for (int i = 0; i < 300; ++i) {
    classes.push_back(i / 10);
    for (int k = 0; k < 5; ++k) x(i, k) = random.Normal() * (k == 1 ? 10 : 1);
  }
  for (int c = 0; c < 30; ++c) {
    const double shift = 5 * random.Normal();
    for (int i = 0; i < 10; ++i) x(10 * c + i, 3) += shift;
  }
  DiscriminantOptions options;
  options.shrinkage = 0;
  options.suppress_mean = false;
  const auto lda = Lda(x, classes, 2, options);
  ASSERT_TRUE(lda.ok());
  EXPECT_GT(lda->ratios[0], 15);
  EXPECT_LT(lda->ratios[1], 0.3);
  EXPECT_GT(std::abs(lda->vectors(0, 3)), 0.97 * lda->vectors.row(0).norm());
  EXPECT_NEAR(lda->vectors.row(0).norm(), 1, 0.1);  // within-class variance 1
  const FeatureMatrix pca = Pca(x, 2);
  EXPECT_GT(std::abs(pca(0, 1)), 0.99);
  EXPECT_NEAR(pca.row(0).dot(pca.row(1)), 0, 1e-9);
  // Fewer classes than directions asked for.
  std::vector<int> two(300);
  for (int i = 0; i < 300; ++i) two[i] = i % 2;
  EXPECT_EQ(Lda(x, two, 4, options)->vectors.rows(), 1);
  EXPECT_FALSE(Lda(x, std::vector<int>(300, 0), 2, options).ok());
  // More dimensions than samples (the Gram matrix's side).
  const FeatureMatrix wide = FeatureMatrix::Random(20, 50);
  std::vector<int> five(20);
  for (int i = 0; i < 20; ++i) five[i] = i / 4;
  const auto few = Lda(wide, five, 10);
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few->vectors.rows(), 4);
  EXPECT_TRUE(few->vectors.allFinite());
}

TEST(Pairing, RepairsIdentitiesAndRespectsLimits) {
  const Dataset dataset = Small();
  const auto pool = SamplePool::Make(dataset, Split::kTrain);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->identities(), 36);
  EXPECT_EQ(pool->Paired().features.rows(), 180);
  Random random(1);
  const Batch all = pool->Repair(random, 10000);
  EXPECT_EQ(all.features.rows(), 180);
  // Every sample of every modality is used once, halves have unit length.
  for (Eigen::Index i = 0; i < all.features.rows(); ++i) {
    EXPECT_NEAR(all.features.row(i).head(48).norm(), 1, 1e-12);
    EXPECT_NEAR(all.features.row(i).tail(32).norm(), 1, 1e-12);
  }
  std::set<double> seen;
  for (Eigen::Index i = 0; i < 180; ++i) seen.insert(all.features(i, 0));
  EXPECT_EQ(seen.size(), 180u);
  EXPECT_LE(pool->Repair(random, 40).features.rows(), 40);
  const Batch dropped = pool->Repair(random, 10000, 0.5);
  int missing = 0;
  for (Eigen::Index i = 0; i < 180; ++i) {
    const bool first = dropped.features.row(i).head(48).isZero();
    const bool second = dropped.features.row(i).tail(32).isZero();
    EXPECT_FALSE(first && second);
    missing += first || second;
  }
  EXPECT_NEAR(missing, 90, 30);
}

TEST(Pairing, UnpairedSamplesOfTheSplitsIdentitiesReplacePairedOnes) {
  Dataset dataset = Small();
  UnpairedModality voice{{"voice", dataset.modalities[1].features}, dataset.labels};
  FeatureMatrix twice(600, 32);
  twice << voice.modality.features, FeatureMatrix(2 * voice.modality.features);
  voice.modality.features = twice;
  voice.labels.insert(voice.labels.end(), dataset.labels.begin(), dataset.labels.end());
  dataset.unpaired.push_back(voice);
  const auto pool = SamplePool::Make(dataset, Split::kTrain);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->modalities()[1].features.rows(), 360);  // 36 of 60 identities
  EXPECT_EQ(pool->modalities()[0].features.rows(), 180);
}

TEST(Train, BeatsTheBaselinesOnNewIdentitiesAndStaysInsideItsInterval) {
  const Dataset dataset = Small();
  const auto result = Train(dataset, Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->projection.rows(), 8);
  EXPECT_EQ(result->projection.cols(), 80);
  int outside = 0;
  const auto exact = LearnedScores(dataset, Split::kTest, result->projection);
  const auto approximate = LearnedScores(dataset, Split::kTest, result->projection,
                                         {result->approximation, 1.0}, &outside);
  ASSERT_TRUE(exact.ok() && approximate.ok());
  EXPECT_NEAR(TestAuroc(*exact), TestAuroc(*approximate), 0.01);
  EXPECT_LE(outside, 3);
  EXPECT_LE(result->outside_share, 0.01);
  EXPECT_EQ(result->approximation.Degree(), 3);
  EXPECT_NEAR(result->approximation.interval.lo * result->approximation.interval.hi, 1, 1e-9);
  const auto baselines = ScoreBaselines(dataset, Split::kTest, 8);
  ASSERT_TRUE(baselines.ok());
  for (const Baseline& baseline : *baselines) {
    if (baseline.name == "lda") continue;
    EXPECT_GT(TestAuroc(*approximate), TestAuroc(baseline.scored)) << baseline.name;
  }
  EXPECT_EQ(result->summary["options"]["gamma"], 8);
  EXPECT_EQ(result->summary["train_identities"], 36);
}

TEST(Train, ReproducibleWhateverTheThreads) {
  const Dataset dataset = Small();
  SetThreadCount(1);
  const auto one = Train(dataset, Quick());
  SetThreadCount(3);
  const auto three = Train(dataset, Quick());
  SetThreadCount(0);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->projection, three->projection);
  EXPECT_EQ(one->approximation, three->approximation);
  EXPECT_EQ(one->summary, three->summary);
}

TEST(Train, ResumesBitForBit) {
  const Dataset dataset = Small();
  TrainOptions options = Quick();
  options.patience = 100;
  std::string saved;
  TrainHooks saving;
  saving.save = [&](const TrainCheckpoint& checkpoint) {
    if (checkpoint.epoch == 5) saved = FormatCheckpoint(checkpoint);
    return absl::OkStatus();
  };
  const auto whole = Train(dataset, options, saving);
  ASSERT_TRUE(whole.ok());
  const auto checkpoint = ParseCheckpoint(saved);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  TrainHooks resuming;
  resuming.resume = &*checkpoint;
  int first_epoch = -1;
  resuming.progress = [&](const TrainProgress& progress) {
    if (first_epoch < 0) first_epoch = progress.epoch;
  };
  const auto resumed = Train(dataset, options, resuming);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(first_epoch, 6);
  EXPECT_EQ(resumed->projection, whole->projection);
  EXPECT_EQ(resumed->summary, whole->summary);

  options.lambda = 0.5;
  EXPECT_EQ(Train(dataset, options, resuming).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ParseCheckpoint("{}").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(ParseCheckpoint(saved.substr(0, saved.size() / 2)).ok());
  saving.save = [](const TrainCheckpoint&) { return absl::UnavailableError("disk full"); };
  EXPECT_EQ(Train(dataset, Quick(), saving).status().code(), absl::StatusCode::kUnavailable);
}

TEST(Train, OneTwoAndThreeModalitiesOfDifferentDimensions) {
  for (const std::vector<int>& dimensions :
       {std::vector<int>{40}, std::vector<int>{40, 24}, std::vector<int>{24, 40, 16}}) {
    const Dataset dataset = Small(dimensions);
    for (int gamma : {4, 16}) {
      const auto result = Train(dataset, Quick(gamma));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->projection.rows(), gamma);
      EXPECT_EQ(result->projection.cols(), dataset.TotalDimension());
      // Three modalities that share four directions have one each, which costs accuracy.
      const bool scarce = dimensions.size() == 3 && gamma == 4;
      EXPECT_GT(TestAuroc(*LearnedScores(dataset, Split::kTest, result->projection)),
                scarce ? 0.65 : 0.7)
          << dimensions.size() << " modalities, gamma " << gamma;
      EXPECT_EQ(result->summary["modality_weights"].size(), dimensions.size());
      EXPECT_TRUE(ScoreBaselines(dataset, Split::kTest, gamma).ok());
    }
  }
}

TEST(Train, GammaAboveTheNumberOfDiscriminantsIsFilledUp) {
  SyntheticOptions few;
  few.factors.emplace();
  few.identities = 12;
  few.samples_per_identity = 6;
  few.dimensions = {20, 20};
  const auto result = Train(*SynthesiseDataset(few), Quick(32));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->projection.rows(), 32);
  EXPECT_TRUE(result->projection.allFinite());
  EXPECT_GT(result->projection.rowwise().norm().minCoeff(), 0);
}

TEST(Train, PaperRecipeLearns) {
  const Dataset dataset = Small();
  TrainOptions options = Quick();
  options.recipe = Recipe::kPaper;
  options.epochs = 60;
  options.lambda = 0.01;
  std::vector<TrainProgress> seen;
  const auto result =
      Train(dataset, options, [&](const TrainProgress& progress) { seen.push_back(progress); });
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(seen.size(), 61u);
  EXPECT_GT(result->val_auroc, seen.front().val_auroc + 0.02);
  EXPECT_EQ(result->approximation.interval, kPaperInterval);
  // The mean squared norm of the training set sits in the middle of the paper's interval.
  const auto train = Concatenate(dataset, RowsOf(dataset.split, Split::kTrain));
  EXPECT_NEAR(SquaredNorms(result->projection, *train).mean(), 1.525, 1e-9);
  options.grid_search = true;
  options.epochs = 2;
  seen.clear();
  ASSERT_TRUE(Train(dataset, options, [&](const TrainProgress& p) { seen.push_back(p); }).ok());
  EXPECT_EQ(seen.back().epoch, 60);
  EXPECT_EQ(seen.back().epochs, 60);
}

TEST(Train, DroppingModalitiesKeepsTemplatesWithOneMissingInside) {
  const Dataset dataset = Small();
  TrainOptions options = Quick();
  options.drop_modality = 0.3;
  const auto result = Train(dataset, options);
  ASSERT_TRUE(result.ok());
  const int missing[] = {1};
  const std::vector<int> rows = RowsOf(dataset.split, Split::kTest);
  const auto features = Concatenate(dataset, rows, missing);
  ASSERT_TRUE(features.ok());
  EXPECT_TRUE(features->rightCols(32).isZero());
  int outside = 0;
  ProjectAndNormalise(result->projection, *features, {result->approximation, 1.0}, &outside);
  EXPECT_LE(outside, static_cast<int>(rows.size()) / 10);
}

TEST(Train, SaysWhatIsWrong) {
  const Dataset dataset = Small();
  auto with = [](auto change) {
    TrainOptions options = Quick();
    change(options);
    return options;
  };
  const TrainOptions kBad[] = {with([](TrainOptions& o) { o.gamma = 81; }),
                               with([](TrainOptions& o) { o.gamma = 0; }),
                               with([](TrainOptions& o) { o.lambda = 1.5; }),
                               with([](TrainOptions& o) { o.degree = 32; }),
                               with([](TrainOptions& o) { o.margin = NAN; }),
                               with([](TrainOptions& o) { o.learning_rate = -1; })};
  for (const TrainOptions& options : kBad) {
    EXPECT_EQ(Train(dataset, options).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(std::string(Train(dataset, kBad[0]).status().message()), HasSubstr("gamma is 81"));
  Dataset no_validation = dataset;
  for (Split& split : no_validation.split) {
    if (split == Split::kValidation) split = Split::kTrain;
  }
  EXPECT_THAT(std::string(Train(no_validation, Quick()).status().message()),
              HasSubstr("val split"));
  Dataset zero = dataset;
  zero.modalities[0].features.row(0).setZero();
  EXPECT_FALSE(Train(zero, Quick()).ok());
  EXPECT_FALSE(LearnedScores(dataset, Split::kTest, FeatureMatrix::Ones(4, 3)).ok());
  EXPECT_FALSE(ParseRecipe("magic").ok());
}

TEST(Train, ModalityWeightsAreTakenAsGiven) {
  const Dataset dataset = Small();
  TrainOptions options = Quick();
  options.modality_weights = {1, 0.25};
  const auto given = Train(dataset, options);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->summary["modality_weights"], Json({1.0, 0.25}));
  options.modality_weights = {1, 4};
  const auto other = Train(dataset, options);
  ASSERT_TRUE(other.ok());
  auto share = [](const TrainResult& r) {
    return r.projection.rightCols(32).norm() / r.projection.norm();
  };
  EXPECT_LT(share(*given), share(*other));
  for (const std::vector<double>& wrong : {std::vector<double>{1}, {1, 0}, {1, -1}, {1, NAN}}) {
    options.modality_weights = wrong;
    EXPECT_FALSE(Train(dataset, options).ok());
  }
  options.modality_weights = {1, 1};
  options.recipe = Recipe::kPaper;
  EXPECT_THAT(std::string(Train(dataset, options).status().message()), HasSubstr("paper"));
}

TEST(Train, TrainingPeopleAreMeasuredWhereAsked) {
  TrainHooks hooks;
  double last = 0;
  hooks.progress = [&](const TrainProgress& p) { last = p.train_auroc; };
  ASSERT_TRUE(Train(Small(), Quick(), hooks).ok());
  EXPECT_EQ(last, 0);
  hooks.measure_training = true;
  ASSERT_TRUE(Train(Small(), Quick(), hooks).ok());
  EXPECT_GT(last, 0.8);
  EXPECT_LE(last, 1);
}

TEST(Baselines, PartialProbesMeetWholeTemplates) {
  const Dataset dataset = Small();
  const FeatureMatrix p = FeatureMatrix::Random(8, 80);
  const auto whole = LearnedScores(dataset, Split::kTest, p);
  const int voice[] = {1};
  int outside = -1;
  const auto partial = PartialProbeScores(dataset, Split::kTest, p, {}, voice, &outside);
  ASSERT_TRUE(partial.ok());
  EXPECT_EQ(outside, 0) << "nothing is outside of exact normalisation";
  EXPECT_EQ(partial->identities, whole->identities);
  // Probe 2 without its second modality against template 5, by hand.
  const std::vector<int> rows = RowsOf(dataset.split, Split::kTest);
  const FeatureMatrix features = *Concatenate(dataset, rows);
  const Eigen::VectorXd probe = p.leftCols(48) * features.row(2).head(48).transpose();
  const Eigen::VectorXd enrolled = p * features.row(5).transpose();
  EXPECT_NEAR(partial->scores(2, 5), probe.normalized().dot(enrolled.normalized()), 1e-12);
  EXPECT_FALSE(PartialProbeScores(dataset, Split::kTest, p.leftCols(79), {}, voice).ok());
}

}  // namespace
}  // namespace heft
