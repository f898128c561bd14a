// SPDX-License-Identifier: Apache-2.0
// The numbers from which the key owner's budget is derived (SECURITY.md, "Scores leak"): how much
// scores and decisions give away of the templates of a model with 32 dimensions, learned from other
// people than its targets.
#include "evaluation/recovery.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "experiment/random_model.h"
#include "features/dataset.h"
#include "fusion/recovery_figures.h"
#include "heft/train.h"
#include "owner/budget_use.h"

namespace heft {
namespace {

using Rows = std::vector<std::vector<double>>;

FeatureMatrix Matrix(const Rows& rows) {
  FeatureMatrix out(rows.size(), rows[0].size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) out(i, j) = rows[i][j];
  }
  return out;
}

std::vector<double> Template(const Model& model, const Dataset& data, int row) {
  std::vector<std::vector<double>> sample;
  for (const Modality& m : data.modalities) {
    const auto unit = m.features.row(row).normalized().eval();
    sample.emplace_back(unit.data(), unit.data() + unit.size());
  }
  std::vector<double> z = experiment::FusePlain(model, sample);
  const double length = std::sqrt(experiment::Dot(z, z));
  for (double& v : z) v /= length;
  return z;
}

// RecoveryTest: 400 people; the model learns from some, the attacker knows others, its targets are
// the test split's, by their first template.
class RecoveryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SyntheticOptions options;
    options.factors.emplace();
    options.identities = 400;
    options.samples_per_identity = 4;
    options.dimensions = {64, 64};
    options.seed = 7;
    LearnOptions learn;
    learn.gamma = 32;
    learn.epochs = 10;
    learn.profile = "standard";
    model_ = new Model(*Learn(*TrainingData::Synthesise(options), learn));
    const Dataset data = *SynthesiseDataset(options);
    Rows known, targets;
    std::map<std::string, int> seen;
    for (int row = 0; row < data.Rows(); ++row) {
      const bool first = seen[data.labels[row]]++ == 0;
      if (data.split[row] == Split::kValidation) known.push_back(Template(*model_, data, row));
      if (data.split[row] == Split::kTest && first) targets.push_back(Template(*model_, data, row));
    }
    people_ = new Population{Matrix(known), Matrix(targets)};
    at_1e2_ = ImpostorThreshold(*people_, 1e-2);
    at_1e3_ = ImpostorThreshold(*people_, 1e-3);
  }
  static void TearDownTestSuite() {
    delete people_;
    delete model_;
  }
  static std::vector<Recovery> Scores(Probes probes, const std::vector<int>& answers) {
    const double thresholds[] = {at_1e2_, at_1e3_};
    return *RecoverFromScores(*people_, probes, answers, thresholds, 1);
  }

  inline static Model* model_ = nullptr;
  inline static Population* people_ = nullptr;
  inline static double at_1e2_ = 0, at_1e3_ = 0;
};

// A row of the table: answers, cosine, accepted at the FMR of 1e-2 and 1e-3.
struct Expected {
  int answers;
  double cosine, at_1e2, at_1e3;
};

TEST_F(RecoveryTest, FromScores) {
  ASSERT_EQ(people_->targets.rows(), 80);
  EXPECT_NEAR(at_1e2_, 0.41, 0.01);
  EXPECT_NEAR(at_1e3_, 0.52, 0.01);
  const std::vector<int> answers = {1, 2, 4, 8, 16, 32};
  const Expected chosen[] = {{1, 0.10, 0.01, 0.00}, {2, 0.21, 0.06, 0.00},  {4, 0.34, 0.30, 0.13},
                             {8, 0.49, 0.75, 0.48}, {16, 0.69, 1.00, 0.96}, {32, 1, 1, 1}};
  const Expected strangers[] = {{1, 0.09, 0.01, 0.00},  {2, 0.20, 0.15, 0.05},
                                {4, 0.32, 0.38, 0.09},  {8, 0.46, 0.78, 0.44},
                                {16, 0.67, 0.99, 0.94}, {32, 1, 1, 1}};
  for (const Probes probes : {Probes::kChosen, Probes::kStrangers}) {
    const auto found = Scores(probes, answers);
    for (size_t i = 0; i < answers.size(); ++i) {
      const Expected& row = probes == Probes::kChosen ? chosen[i] : strangers[i];
      EXPECT_NEAR(found[i].cosine, row.cosine, 0.015) << answers[i];
      EXPECT_NEAR(found[i].accepted[0], row.at_1e2, 0.04) << answers[i];
      EXPECT_NEAR(found[i].accepted[1], row.at_1e3, 0.04) << answers[i];
      // The plain bound that `heft budget` states.
      EXPECT_NEAR(found[i].cosine, ReconstructionCosine(answers[i], 32), 0.09) << answers[i];
    }
  }
}

// Rounding to 0.001 takes nothing away from the attacker.
TEST_F(RecoveryTest, ExactScoresTellHardlyMore) {
  const std::vector<int> answers = {1, 4, 16};
  const double thresholds[] = {at_1e3_};
  const auto rounded = Scores(Probes::kChosen, answers);
  const auto exact = *RecoverFromScores(*people_, Probes::kChosen, answers, thresholds, 1, 0);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_NEAR(exact[i].cosine, rounded[i].cosine, 1e-3) << answers[i];
    EXPECT_NEAR(exact[i].accepted[0], rounded[i].accepted[1], 0.02) << answers[i];
  }
}

TEST_F(RecoveryTest, FromDecisions) {
  const std::vector<int> answers = {16, 128, 1024};
  const auto low = *RecoverFromDecisions(*people_, answers, at_1e2_, 1);
  const auto high = *RecoverFromDecisions(*people_, answers, at_1e3_, 1);
  const Expected expected[] = {
      {16, -0.02, 0.14, 0.00}, {128, 0.06, 0.65, 0.10}, {1024, 0.56, 1, 0.60}};
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_NEAR(low[i].accepted[0], expected[i].at_1e2, 0.04) << answers[i];
    EXPECT_NEAR(high[i].accepted[0], expected[i].at_1e3, 0.04) << answers[i];
    EXPECT_NEAR(high[i].cosine, expected[i].cosine, 0.04) << answers[i];
  }
}

// The default budget of scores is what training measured on people of its own, and it protects the
// targets of this test, too.
TEST_F(RecoveryTest, TheDefaultsStayBelowWhatIsAccepted) {
  const BudgetLimits limits = DefaultLimits(*model_);
  const auto figures = FiguresOf(*model_);
  ASSERT_TRUE(figures.has_value());
  EXPECT_EQ(limits.scores, figures->AllowedScores());
  const std::vector<int> scores = {static_cast<int>(limits.scores)};
  for (const Probes probes : {Probes::kChosen, Probes::kStrangers}) {
    EXPECT_LE(Scores(probes, scores)[0].accepted[1], 0.0125) << "one of 80 at most";
  }
  Model unmeasured = *model_;
  unmeasured.training_summary = "{}";
  EXPECT_EQ(DefaultLimits(unmeasured).scores, 0u);
  const std::vector<int> rejected = {static_cast<int>(limits.rejections)};
  EXPECT_LE((*RecoverFromDecisions(*people_, rejected, at_1e3_, 1))[0].accepted[0], 0.03)
      << "one client's claims before one must be accepted";
  // A decision is charged less than a score by no more than it tells less: the chance of 1 in 8
  // takes 4 scores, and more than 40 decisions.
  const std::vector<int> forty = {static_cast<int>(4 * kScoreBits / kDecisionBits)};
  EXPECT_LT((*RecoverFromDecisions(*people_, forty, at_1e3_, 1))[0].accepted[0],
            Scores(Probes::kChosen, {4})[0].accepted[1]);
}

// Of several templates the best score is published: a guess has more to be near to, and the answers
// are of one template or another.
TEST_F(RecoveryTest, SeveralTemplatesOfATarget) {
  Population twice = *people_;
  twice.templates = 2;
  twice.targets.resize(2 * people_->targets.rows(), people_->targets.cols());
  for (Eigen::Index i = 0; i < twice.targets.rows(); ++i) {
    twice.targets.row(i) = people_->targets.row(i / 2);
  }
  const std::vector<int> answers = {4, 16};
  const double thresholds[] = {at_1e3_};
  const auto same = *RecoverFromScores(twice, Probes::kChosen, answers, thresholds, 1);
  const auto one = *RecoverFromScores(*people_, Probes::kChosen, answers, thresholds, 1);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_NEAR(same[i].cosine, one[i].cosine, 1e-9) << "the same template twice";
  }
  EXPECT_NEAR(ImpostorThreshold(twice, 1e-3), at_1e3_, 1e-9);
  Population pairs = *people_;  // two people as one
  pairs.templates = 2;
  EXPECT_GT(ImpostorThreshold(pairs, 1e-3), at_1e3_);
  EXPECT_EQ(RecoverFromDecisions(pairs, answers, at_1e3_, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  pairs.templates = 3;
  EXPECT_FALSE(RecoverFromScores(pairs, Probes::kChosen, answers, thresholds, 1).ok());
}

TEST(RecoveryAlone, RefusesPeopleThatDoNotFit) {
  Population people;
  EXPECT_FALSE(RecoverFromScores(people, Probes::kChosen, {}, {}, 1).ok());
  people.known = FeatureMatrix::Identity(4, 4);
  people.targets = FeatureMatrix::Identity(4, 3);
  EXPECT_FALSE(RecoverFromScores(people, Probes::kChosen, {}, {}, 1).ok());
}

}  // namespace
}  // namespace heft
