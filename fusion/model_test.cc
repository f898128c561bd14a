// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fusion/plan.h"
#include "inverse_sqrt/fit.h"

namespace heft {
namespace {

Model Small() {
  Model model;
  model.modalities = {{"face", 3}, {"voice", 2}};
  model.gamma = 4;
  model.projection.assign(20, 0.25);
  model.approximation = *FitMinimax(3, {0.5, 1.5});
  model.thresholds = {{1e-3, 0.42, 0.05, 1000}};
  model.training_summary = R"({"seed": 7})";
  return model;
}

TEST(ModelTest, ComesBack) {
  const Model model = Small();
  auto back = Model::Parse(model.Serialize(), "model");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->modalities, model.modalities);
  EXPECT_EQ(back->projection, model.projection);
  EXPECT_EQ(back->approximation, model.approximation);
  EXPECT_EQ(back->thresholds, model.thresholds);
  EXPECT_EQ(back->training_summary, model.training_summary);
  EXPECT_EQ(back->Id(), model.Id());
}

TEST(ModelTest, CalibrationComesBack) {
  Model model = Small();
  EXPECT_FALSE(Model::Parse(model.Serialize(), "model")->calibration.has_value());
  model.calibration = {8, -2.5};
  auto back = Model::Parse(model.Serialize(), "model");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->calibration, model.calibration);
  EXPECT_EQ(back->training_summary, model.training_summary);
  EXPECT_EQ(back->Id(), Small().Id());
  model.calibration->slope = std::nan("");
  EXPECT_FALSE(Model::Parse(model.Serialize(), "model").ok());
}

// As trainers before version 2 wrote it.
TEST(ModelTest, CalibrationIsFoundInTheSummaryOfVersion1) {
  Model model = Small();
  model.training_summary = R"({"score_calibration": {"slope": 8, "intercept": -2.5}})";
  EXPECT_EQ(Model::Parse(model.Serialize(), "model")->calibration, (ScoreCalibration{8, -2.5}));
  for (const char* other : {R"({"score_calibration": 3})", R"({"score_calibration": {"slope": 8}})",
                            R"({"score_calibration": {"slope": "8", "intercept": 1}})"}) {
    model.training_summary = other;
    EXPECT_FALSE(Model::Parse(model.Serialize(), "model")->calibration.has_value()) << other;
  }
}

TEST(ModelTest, ThresholdsByFalseMatchRate) {
  Model model = Small();
  const auto poor = model.ThresholdFor(1e-3);
  ASSERT_TRUE(poor.ok()) << poor.status();
  EXPECT_EQ(poor->score, 0.42);
  EXPECT_THAT(poor->warning, ::testing::HasSubstr("30000 are needed"));
  model.thresholds.push_back({1e-2, 0.3, 0.05, 3000});
  EXPECT_EQ(model.ThresholdFor(0.01)->warning, "");
  const auto unknown = model.ThresholdFor(1e-4);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.status().message()), ::testing::HasSubstr("0.001, 0.01"));
}

TEST(ModelTest, IdFollowsWhatTemplatesDependOn) {
  Model a = Small(), b = Small();
  b.training_summary = "{}";
  EXPECT_EQ(a.Id(), b.Id());
  b.projection[3] += 1e-9;
  EXPECT_NE(a.Id(), b.Id());
}

TEST(ModelTest, DecisionIdFollowsThresholdsAndCalibrationToo) {
  const Model model = Small();
  Model other = model;
  other.thresholds[0].score -= 0.01;
  EXPECT_EQ(other.Id(), model.Id());
  EXPECT_NE(other.DecisionId(), model.DecisionId());
  other = model;
  other.calibration = {8, -2.5};
  EXPECT_NE(other.DecisionId(), model.DecisionId());
  other = model;
  other.projection[0] += 1;
  EXPECT_NE(other.DecisionId(), model.DecisionId());
  EXPECT_EQ(Model::Parse(model.Serialize(), "model")->DecisionId(), model.DecisionId());
}

TEST(ModelTest, DamageIsNoticed) {
  const std::vector<uint8_t> good = Small().Serialize();
  for (size_t i = 0; i < good.size(); i += 3) {
    std::vector<uint8_t> bad = good;
    bad[i] ^= 1;
    EXPECT_FALSE(Model::Parse(bad, "model").ok()) << i;
    bad.resize(i);
    EXPECT_FALSE(Model::Parse(bad, "model").ok()) << i;
  }
}

// Printing it would take a stack frame a level.
TEST(ModelTest, DeepSummaryIsRefused) {
  Model m = Small();
  for (const size_t depth : {size_t{33}, size_t{1000000}}) {
    m.training_summary = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(Model::Parse(m.Serialize(), "model").status().code(), absl::StatusCode::kDataLoss);
  }
  m.training_summary = std::string(32, '[') + std::string(32, ']');
  EXPECT_TRUE(Model::Parse(m.Serialize(), "model").ok());
  m.training_summary = "{";
  EXPECT_FALSE(Model::Parse(m.Serialize(), "model").ok());
}

TEST(ModelTest, ChecksValues) {
  Model m = Small();
  m.gamma = 5;
  EXPECT_FALSE(m.Check().ok());
  m = Small();
  m.projection[0] = std::nan("");
  EXPECT_FALSE(m.Check().ok());
  m = Small();
  m.modalities[1].name = "face";
  EXPECT_FALSE(m.Check().ok());
  m = Small();
  m.approximation.interval = {1, 0.5};
  EXPECT_FALSE(m.Check().ok());
  m = Small();
  m.approximation.stages[0].half_width = INFINITY;
  EXPECT_FALSE(m.Check().ok());
  m = Small();
  m.projection.pop_back();
  EXPECT_FALSE(Model::Parse(m.Serialize(), "model").ok());
  m = Small();
  m.profile = "unknown";
  EXPECT_FALSE(MakeInstance(m).ok());
}

}  // namespace
}  // namespace heft
