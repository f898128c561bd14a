// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/inside.h"
#include "evaluation/thresholds.h"
#include "features/dataset.h"
#include "heft/train.h"
#include "learning/model_scores.h"
#include "learning/trained_model.h"
#include "learning/training_marks.h"

namespace heft {
namespace {

using StatusCode = absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSamples = 6;

// AllPeople: with the same statistics; the tests divide them.
const Dataset& AllPeople() {
  static const Dataset* all = [] {
    SyntheticOptions options;
    options.factors.emplace();
    options.identities = 160;
    options.samples_per_identity = kSamples;
    options.dimensions = {32, 24};
    return new Dataset(*SynthesiseDataset(options));
  }();
  return *all;
}

// PeopleFrom from `first` on, without a split of their own.
Dataset PeopleFrom(int first, int count, int samples = kSamples) {
  std::vector<int> rows;
  for (int person = first; person < first + count; ++person) {
    for (int i = 0; i < samples; ++i) rows.push_back(person * kSamples + i);
  }
  Dataset people = SelectRows(AllPeople(), rows);
  people.split_was_derived = true;
  return people;
}

TrainingData DataOf(Dataset dataset) {
  auto impl = std::make_unique<TrainingData::Impl>();
  impl->dataset = std::move(dataset);
  return Inside::Make<TrainingData>(std::move(impl));
}

// Uncalibrated: the concatenation at unit length, without thresholds. |z|^2 is 1 for every sample
// with both modalities.
Model Uncalibrated(const std::string& profile = "standard") {
  Model model;
  model.modalities = {{"face", 32}, {"voice", 24}};
  model.gamma = 64;
  model.profile = profile;
  model.projection.assign(64 * 56, 0);
  for (int i = 0; i < 56; ++i) model.projection[i * 56 + i] = std::sqrt(0.5);
  model.approximation = *FitMinimax(3, Interval{0.4, 1.6});
  model.training_summary = R"({"val_auroc": 0.9, "threshold_warning": "of the training"})";
  return model;
}

TEST(CalibrateTest, AddsATableForEachSetOfModalities) {
  const Model model = Uncalibrated();
  const auto calibrated = Calibrate(model, DataOf(PeopleFrom(0, 60)));
  ASSERT_TRUE(calibrated.ok()) << calibrated.status();
  EXPECT_EQ(calibrated->Id(), model.Id()) << "galleries and keys stay valid";
  EXPECT_NE(calibrated->DecisionId(), model.DecisionId());
  ASSERT_EQ(calibrated->tables.size(), 3u);
  for (const DecisionTable& table : calibrated->tables) {
    EXPECT_FALSE(table.thresholds.empty());
    EXPECT_FALSE(table.searches.empty());
    EXPECT_TRUE(table.calibration.has_value());
  }
  const Json summary = *Json::Parse(calibrated->training_summary);
  EXPECT_EQ(summary["val_auroc"], 0.9) << "the training's summary stays";
  EXPECT_FALSE(summary.contains("threshold_warning")) << "it was of thresholds that are gone";
  const Json& told = summary["calibration"];
  EXPECT_EQ(told["people"], 60);
  EXPECT_EQ(told["samples"], 360);
  EXPECT_EQ(told["genuine_pairs"], 60 * 15);
  EXPECT_EQ(told["impostor_pairs"], 360 * 359 / 2 - 60 * 15);
  EXPECT_EQ(told["outside_share"], 0);
  const auto again = Calibrate(model, DataOf(PeopleFrom(0, 60)));
  EXPECT_EQ(again->Serialize(), calibrated->Serialize()) << "the seed decides";
  const auto replaced = Calibrate(*calibrated, DataOf(PeopleFrom(60, 60)));
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->tables.size(), 3u);
  EXPECT_NE(replaced->DecisionId(), calibrated->DecisionId());
}

// The requested rates hold on people that the calibration does not know.
TEST(CalibrateTest, ThresholdsHoldForOtherPeople) {
  const auto model = Calibrate(Uncalibrated(), DataOf(PeopleFrom(0, 80)));
  ASSERT_TRUE(model.ok()) << model.status();
  Dataset others = PeopleFrom(80, 80);
  others.split.assign(others.Rows(), Split::kTest);
  for (const DecisionTable& table : model->tables) {
    const std::vector<int> missing = table.modalities == 1   ? std::vector<int>{1}
                                     : table.modalities == 2 ? std::vector<int>{0}
                                                             : std::vector<int>{};
    const auto scores = PlainScores(others, Split::kTest, *model, missing);
    ASSERT_TRUE(scores.ok()) << scores.status();
    const auto pairs = PairScores(scores->scores, scores->identities);
    const auto at = ChooseThreshold(table.thresholds, 1e-2);
    ASSERT_TRUE(at.ok()) << at.status();
    const auto accepted =
        std::ranges::count_if(pairs->impostor, [&](double s) { return s >= at->score; });
    const double fmr = double(accepted) / pairs->impostor.size();
    EXPECT_GT(fmr, 0.003) << table.modalities;
    EXPECT_LT(fmr, 0.03) << table.modalities;
  }
}

TEST(CalibrateTest, LeavesOutPeopleWhoAreMarkedAsTraining) {
  Dataset people = PeopleFrom(0, 40);
  people.split_was_derived = false;
  for (int row = 0; row < people.Rows(); ++row) {
    people.split[row] = row < 12 * kSamples ? Split::kTrain : Split::kTest;
  }
  const auto model = Calibrate(Uncalibrated(), DataOf(people));
  ASSERT_TRUE(model.ok()) << model.status();
  const Json summary = *Json::Parse(model->training_summary);
  EXPECT_EQ(summary["calibration"]["people"], 28);
  EXPECT_EQ(summary["calibration"]["people_left_out"], 12);
  EXPECT_THAT(DescribeCalibration(*model)->text, HasSubstr("left out: 12 people"));
  EXPECT_EQ(model->tables, Calibrate(Uncalibrated(), DataOf(PeopleFrom(12, 28)))->tables);
  // Where the others are too few, all are used, and that is said.
  for (int row = 0; row < people.Rows(); ++row) {
    people.split[row] = row < 31 * kSamples ? Split::kTrain : Split::kTest;
  }
  const auto all = Calibrate(Uncalibrated(), DataOf(people));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ((*Json::Parse(all->training_summary))["calibration"]["people"], 40);
  EXPECT_THAT(DescribeCalibration(*all)->warnings[0], HasSubstr("marked \"train\""));
}

TEST(CalibrateTest, RefusesTooFewPeople) {
  const auto few = Calibrate(Uncalibrated(), DataOf(PeopleFrom(0, 9)));
  EXPECT_EQ(few.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(few.status().message()),
              HasSubstr("9 have two samples or more, but 10 are"));
  const auto single = Calibrate(Uncalibrated(), DataOf(PeopleFrom(0, 50, 1)));
  EXPECT_THAT(std::string(single.status().message()), HasSubstr("0 have two samples"));
}

TEST(CalibrateTest, WarnsOfTooFewComparisons) {
  const auto model = Calibrate(Uncalibrated(), DataOf(PeopleFrom(0, 12, 2)));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto told = DescribeCalibration(*model);
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_THAT(told->warnings, SizeIs(1));
  EXPECT_THAT(told->warnings[0], HasSubstr("the threshold for FMR 0.01 rests on 264 impostor"));
  EXPECT_EQ(DescribeCalibration(Uncalibrated()).status().code(), StatusCode::kFailedPrecondition);
}

TEST(CalibrateTest, WarnsOfSamplesOutsideTheInterval) {
  Model model = Uncalibrated();
  model.approximation = *FitMinimax(3, Interval{0.4, 0.9});
  const auto calibrated = Calibrate(model, DataOf(PeopleFrom(0, 60)));
  ASSERT_TRUE(calibrated.ok()) << calibrated.status();
  EXPECT_THAT(DescribeCalibration(*calibrated)->warnings,
              ::testing::Contains(HasSubstr("100.0% of the samples lie outside")));
}

TEST(CalibrateTest, RefusesPeopleWhoTrainedTheModel) {
  Dataset trained = PeopleFrom(0, 40);
  trained.split.assign(trained.Rows(), Split::kTrain);
  Model model = Uncalibrated();
  Json summary = *Json::Parse(model.training_summary);
  summary["training_marks"] = TrainingMarks(trained);
  model.training_summary = summary.dump();
  const auto same = Calibrate(model, DataOf(PeopleFrom(20, 40)));
  EXPECT_EQ(same.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(same.status().message()), HasSubstr("these people trained the model"));
  EXPECT_TRUE(Calibrate(model, DataOf(PeopleFrom(40, 40))).ok());
}

TEST(CalibrateTest, RefusesOtherModalities) {
  Dataset faces = PeopleFrom(0, 40);
  faces.modalities.pop_back();
  const auto lacking = Calibrate(Uncalibrated(), DataOf(faces));
  EXPECT_EQ(lacking.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(lacking.status().message()), HasSubstr("no modality \"voice\""));
}

TEST(CalibrateTest, CanBeStopped) {
  int asked = 0;
  const auto stopped = Calibrate(Uncalibrated(), DataOf(PeopleFrom(0, 40)), 1,
                                 [&](const ProgressEvent&) { return ++asked < 2; });
  EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace heft
