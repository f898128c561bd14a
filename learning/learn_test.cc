// SPDX-License-Identifier: Apache-2.0
// Learning as a program meets it: heft/train.h.
#include "learning/learn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "features/matrix.h"
#include "heft/base.h"
#include "learning/recipe.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

TrainingData TrainingPeople(int identities = 30) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = identities;
  options.samples_per_identity = 4;
  options.dimensions = {24, 16};
  return *TrainingData::Synthesise(options);
}

LearnOptions QuickLearning() { return {.gamma = 8, .epochs = 4, .patience = 100}; }

Json Summary(const Model& model) { return *Json::Parse(model.training_summary); }

TEST(Learn, GivesAModelToUse) {
  const TrainingData data = TrainingPeople();
  size_t steps = 0, of_parts = 0;
  const auto model = Learn(data, QuickLearning(), [&](const ProgressEvent& event) {
    steps += event.what == "training FHE-aware";
    of_parts += event.what == "cross-fitting";
    return true;
  });
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->Check().ok());
  EXPECT_EQ(model->gamma, 8u);
  EXPECT_EQ(model->modalities, (std::vector<ModalitySpec>{{"face", 24}, {"voice", 16}}));
  EXPECT_EQ(model->approximation.Degree(), 3);
  ASSERT_EQ(model->tables.size(), 3u) << "both, voice alone, face alone";
  EXPECT_EQ(model->tables[0].modalities, model->AllModalities());
  for (const DecisionTable& table : model->tables) {
    EXPECT_FALSE(table.thresholds.empty());
    EXPECT_TRUE(table.calibration.has_value());
    EXPECT_EQ(table.searches.size(), 3u);
  }
  EXPECT_TRUE(model->exact_projection.empty());
  EXPECT_EQ(steps, 5u) << "the start and four epochs";
  EXPECT_EQ(of_parts, 46u) << "before, between and after the folds of ten parts, two left out";
  EXPECT_TRUE(model->sample_agreement.has_value());
  const Json summary = Summary(*model);
  EXPECT_TRUE(summary.contains("fusion"));
  EXPECT_FALSE(summary.contains("gamma_choice")) << "it was told";
  EXPECT_EQ(summary["recipe"]["hash"], recipe::Hash());
  EXPECT_GT(summary["val_auroc"].get<double>(), 0.5);
  EXPECT_EQ(summary["train_identities"], 24) << "18 of them for training, 6 for validation";
  EXPECT_EQ(summary["outside_share_val"], 0);
}

TEST(Learn, IsDescribedByItsModel) {
  const auto model = Learn(TrainingPeople(), QuickLearning());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto told = DescribeTraining(*model);
  ASSERT_TRUE(told.ok()) << told.status();
  const Json summary = Summary(*model);
  EXPECT_EQ(told->json["val_auroc"], summary["val_auroc"]);
  EXPECT_EQ(told->json["fusion"], summary["fusion"]);
  EXPECT_FALSE(told->json.contains("exact_val_auroc"));
  EXPECT_GT(told->json["effective_dimension"].get<double>(), 1);
  EXPECT_LE(told->json["effective_dimension"].get<double>(), 8);
  EXPECT_THAT(told->text, HasSubstr("  gamma 8, effective dimension "));
  EXPECT_THAT(told->text, HasSubstr("concatenation: FNMR "));
  EXPECT_THAT(told->warnings, ::testing::Contains(HasSubstr("are needed"))) << "30 people";
  Model other = *model;
  other.training_summary = "{}";
  EXPECT_EQ(DescribeTraining(other).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Learn, ChoosesGammaWhereNoneIsAskedFor) {
  LearnOptions options = QuickLearning();
  options.gamma = 0;
  std::string said;
  const auto model = Learn(TrainingPeople(), options, [&](const ProgressEvent& event) {
    if (event.what == "choosing gamma") said = event.note;
    return true;
  });
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->gamma == 16 || model->gamma == 32) << model->gamma;
  const Json choice = Summary(*model)["gamma_choice"];
  EXPECT_EQ(choice["gamma"], model->gamma);
  EXPECT_EQ(choice["trials"].size(), 5u) << "learned and pca at 16 and 32 of 40 dimensions, none";
  EXPECT_THAT(said, HasSubstr("gamma "));
  options.recipe = "paper";
  const auto paper = Learn(TrainingPeople(), options);
  ASSERT_TRUE(paper.ok()) << paper.status();
  EXPECT_EQ(paper->gamma, 32u);
  EXPECT_FALSE(paper->sample_agreement.has_value()) << "only the generalising recipe's";
}

TEST(Learn, TheLastLimitThatKeepsTheEstimateIsTaken) {
  LearnOptions options = QuickLearning();
  options.gamma = 32;
  const TrainingData data = TrainingPeople(130);
  const auto model = Learn(data, options);
  ASSERT_TRUE(model.ok()) << model.status();
  const Json isotropy = Summary(*model)["isotropy"];
  ASSERT_EQ(isotropy["trials"].size(), std::size(recipe::kLimits));
  const double unlimited = isotropy["trials"][0]["fnmr"].get<double>();
  double limit = 0;
  for (const Json& trial : isotropy["trials"]) {
    if (trial["fnmr"].get<double>() <= 1.05 * unlimited + 5e-7)
      limit = trial["limit"].get<double>();
  }
  EXPECT_EQ(isotropy["limit"], limit);
  ASSERT_GT(limit, 0) << "otherwise nothing below is tested";
  // No direction of the training people's templates is above the limit in the model itself.
  const FeatureMatrix projection =
      Eigen::Map<const FeatureMatrix>(model->projection.data(), model->gamma, 40);
  FeatureMatrix templates(data.size(), model->gamma);
  for (size_t row = 0; row < data.size(); ++row) {
    Eigen::VectorXd x(40);
    const auto unit = [&](size_t m) {
      const std::vector<float> vector = data.Vector(m, row);
      return Eigen::Map<const Eigen::VectorXf>(vector.data(), vector.size())
          .cast<double>()
          .normalized()
          .eval();
    };
    x << unit(0), unit(1);
    templates.row(row) = (projection * x).normalized().transpose();
  }
  const Eigen::MatrixXd moment = templates.transpose() * templates;
  const Eigen::VectorXd values =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(moment).eigenvalues();
  // Unit length comes after the limit, and six people did not train: the largest may be above it.
  EXPECT_LT(values.maxCoeff() / values.mean(), 2.3) << "2.7 without a limit";
}

TEST(Learn, FewPeopleSetNoLimit) {
  const auto model = Learn(TrainingPeople(), QuickLearning());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(Summary(*model).contains("isotropy"));
}

TEST(Learn, TheConcatenationNeedsNoTraining) {
  LearnOptions options;
  options.method = "none";
  const auto model = Learn(TrainingPeople(), options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->gamma, 64u) << "40 dimensions, padded";
  EXPECT_FALSE(model->tables.empty()) << "people with labels are there";
  EXPECT_FALSE(Summary(*model).contains("training_marks")) << "nothing was trained";
  EXPECT_FALSE(Summary(*model).contains("isotropy"));
  // An isometry: cosines of templates are those of the unit vectors side by side.
  const double scale = model->projection[0];
  for (size_t i = 0; i < 64; ++i) {
    for (size_t j = 0; j < 40; ++j) EXPECT_EQ(model->projection[40 * i + j], i == j ? scale : 0);
  }
}

TEST(Learn, VectorsWithoutLabelsGiveAModelWithoutThresholds) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(TrainingPeople().Write(folder / "data").ok());
  ASSERT_TRUE(std::filesystem::remove(folder / "data/labels.txt"));
  std::filesystem::remove(folder / "data/split.txt");
  EXPECT_FALSE(TrainingData::Load(folder / "data").ok());
  const auto data = TrainingData::LoadUnlabelled(folder / "data");
  ASSERT_TRUE(data.ok()) << data.status();
  const absl::Status learned = Learn(*data, {}).status();
  EXPECT_THAT(std::string(learned.message()), HasSubstr("labels.txt"));
  for (const char* method : {"pca", "none"}) {
    LearnOptions options;
    options.method = method;
    const auto model = Learn(*data, options);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(model->tables.empty()) << method;
    const auto told = DescribeTraining(*model);
    ASSERT_TRUE(told.ok()) << told.status();
    EXPECT_THAT(told->text, HasSubstr("heft calibrate"));
    EXPECT_EQ(told->json["method"], method);
  }
}

// 40 people of 4 samples: centres plus noise in every direction. All people who did not train are
// inside the interval of the model that ships.
TEST(Learn, FewPeopleAreInsideTheInterval) {
  SyntheticOptions few;
  few.factors.emplace();
  few.identities = 60;
  few.samples_per_identity = 4;
  few.dimensions = {128, 128};
  few.factors->rank_identity = 128;
  few.factors->jitter = {0.4};
  few.factors->within = {0};
  few.factors->noise = {0};
  const TrainingData all = *TrainingData::Synthesise(few);
  std::vector<ModalityRows> rows;
  std::vector<std::vector<float>> values(2);
  std::vector<std::string> labels, split;
  for (size_t row = 0; row < all.size(); ++row) {
    labels.push_back(all.labels()[row]);
    split.push_back(row < 24 * 4 ? "train" : row < 40 * 4 ? "val" : "test");
    for (size_t m = 0; m < 2; ++m) {
      const std::vector<float> vector = all.Vector(m, row);
      values[m].insert(values[m].end(), vector.begin(), vector.end());
    }
  }
  for (size_t m = 0; m < 2; ++m) rows.push_back({all.modalities()[m], 128, values[m]});
  const auto data = TrainingData::FromRows(rows, labels, split);
  ASSERT_TRUE(data.ok()) << data.status();
  const auto model = Learn(*data, {});
  ASSERT_TRUE(model.ok()) << model.status();
  const FeatureMatrix projection =
      Eigen::Map<const FeatureMatrix>(model->projection.data(), model->gamma, 256);
  const Interval& interval = model->approximation.interval;
  for (size_t row = 40 * 4; row < all.size(); ++row) {
    Eigen::VectorXd x(256);
    for (int m = 0; m < 2; ++m) {
      const std::vector<float> vector = all.Vector(m, row);
      x.segment(128 * m, 128) =
          Eigen::Map<const Eigen::VectorXf>(vector.data(), 128).cast<double>().normalized();
    }
    EXPECT_TRUE(interval.Contains((projection * x).squaredNorm())) << "row " << row;
  }
}

TEST(Learn, DependsOnDataOptionsAndSeedAlone) {
  const TrainingData data = TrainingPeople();
  SetThreadCount(1);
  const auto one = Learn(data, QuickLearning());
  SetThreadCount(3);
  const auto three = Learn(data, QuickLearning());
  SetThreadCount(0);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->Serialize(), three->Serialize());
  LearnOptions other = QuickLearning();
  other.seed = 2;
  EXPECT_NE(Learn(data, other)->projection, one->projection);
}

TEST(Learn, RecipesHaveFormsOfTheirOwn) {
  const TrainingData data = TrainingPeople();
  LearnOptions options = QuickLearning();
  options.recipe = "paper";
  const auto paper = Learn(data, options);
  ASSERT_TRUE(paper.ok()) << paper.status();
  EXPECT_EQ(paper->approximation.Degree(), 2);
  EXPECT_EQ(paper->approximation.name, "least_squares");
  options.degree = 3;
  options.fit = "minimax";
  EXPECT_EQ(Learn(data, options)->approximation.Degree(), 3);
}

TEST(Learn, TheExactProjectionAndTheCurveAreThereWhereAskedFor) {
  std::vector<LearnEpoch> curve;
  LearnOptions options = QuickLearning();
  options.recipe = "paper";
  options.with_exact = true;
  options.curve = &curve;
  const auto model = Learn(TrainingPeople(), options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->exact_projection.size(), model->projection.size());
  EXPECT_TRUE(Summary(*model).contains("exact"));
  ASSERT_EQ(curve.size(), 5u) << "of the first training";
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(curve[i].epoch, i);
    EXPECT_GT(curve[i].train_auroc, 0.5);
    EXPECT_GT(curve[i].val_auroc, 0.5);
  }
}

TEST(Learn, GoesOnFromACheckpoint) {
  const testing::TemporaryFolder folder;
  const TrainingData data = TrainingPeople();
  const auto whole = Learn(data, QuickLearning());
  LearnOptions options = QuickLearning();
  options.checkpoint = folder / "state";
  int epochs = 0;
  const auto stopped = Learn(data, options, [&](const ProgressEvent& event) {
    epochs += event.total > 0;
    return epochs < 3;
  });
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
  epochs = 0;
  const auto resumed = Learn(data, options, [&](const ProgressEvent& event) {
    epochs += event.what == "training FHE-aware";
    return true;
  });
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_LT(epochs, 4);
  EXPECT_EQ(resumed->Serialize(), whole->Serialize());
  options.lambda = 0.5;
  EXPECT_EQ(Learn(data, options).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(WriteFileAtomic(options.checkpoint, std::string_view("not a state")).ok());
  EXPECT_EQ(Learn(data, options).status().code(), absl::StatusCode::kDataLoss);
  options.checkpoint = "/dev/null";
  EXPECT_EQ(Learn(data, options).status().code(), absl::StatusCode::kInvalidArgument);
  options.checkpoint = folder / "new";
  options.grid_search = true;
  EXPECT_EQ(Learn(data, options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Learn, FoldsLearnFromTheOthers) {
  const TrainingData data = TrainingPeople();
  const auto models = LearnFolds(data, QuickLearning(), 3, 7);
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 3u);
  for (int fold = 0; fold < 3; ++fold) {
    const Json made = Summary((*models)[fold])["cross_validation"];
    EXPECT_EQ(made, Json({{"folds", 3}, {"seed", 7}, {"fold", fold}, {"rows", data.size()}}));
  }
  EXPECT_NE((*models)[0].projection, (*models)[1].projection);
  LearnOptions options = QuickLearning();
  options.checkpoint = "state";
  EXPECT_EQ(LearnFolds(data, options, 3, 7).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Learn, SaysWhatIsWrongBeforeTheWork) {
  const TrainingData data = TrainingPeople();
  const auto refused = [&](auto change, const std::string& what) {
    LearnOptions options = QuickLearning();
    change(options);
    bool began = false;
    const auto model = Learn(data, options, [&](const ProgressEvent&) { return began = true; });
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << what;
    EXPECT_THAT(std::string(model.status().message()), HasSubstr(what));
    EXPECT_FALSE(began) << what;
  };
  refused([](LearnOptions& o) { o.gamma = 5; }, "gamma");
  refused([](LearnOptions& o) { o.gamma = 64; }, "gamma");
  refused([](LearnOptions& o) { o.degree = 7; }, "degree");
  refused([](LearnOptions& o) { o.epochs = -1; }, "epochs");
  refused([](LearnOptions& o) { o.lambda = 2; }, "lambda");
  refused([](LearnOptions& o) { o.modality_weights = {1}; }, "weights");
  refused([](LearnOptions& o) { o.recipe = "secret"; }, "secret");
  refused([](LearnOptions& o) { o.fit = "wild"; }, "wild");
  refused([](LearnOptions& o) { o.profile = "tiny"; }, "tiny");
  refused([](LearnOptions& o) { o.method = "magic"; }, "magic");
  refused([](LearnOptions& o) { o.method = "none"; }, "method pca");
  EXPECT_EQ(Learn(TrainingPeople(3), QuickLearning()).status().code(),
            absl::StatusCode::kInvalidArgument)
      << "one person in validation";
}

}  // namespace
}  // namespace heft
