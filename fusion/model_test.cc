// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "fusion/plan.h"
#include "heft/train.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model Small() {
  Model model;
  model.modalities = {{"face", 3}, {"voice", 2}};
  model.gamma = 4;
  model.projection.assign(20, 0.25);
  model.approximation = *FitMinimax(3, {0.5, 1.5});
  model.tables = {{3, {{1e-3, 0.42, 0.05, 1000}}}, {1, {{1e-3, 0.21, 0.15, 1000}}}};
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
  EXPECT_EQ(back->tables, model.tables);
  EXPECT_EQ(back->training_summary, model.training_summary);
  EXPECT_EQ(back->Id(), model.Id());
}

TEST(ModelTest, CalibrationComesBack) {
  Model model = Small();
  EXPECT_FALSE(Model::Parse(model.Serialize(), "model")->tables[1].calibration.has_value());
  model.tables[1].calibration = {8, -2.5};
  auto back = Model::Parse(model.Serialize(), "model");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->tables, model.tables);
  EXPECT_EQ(back->Id(), Small().Id());
  model.tables[1].calibration->slope = std::nan("");
  EXPECT_FALSE(Model::Parse(model.Serialize(), "model").ok());
}

Model WithSearches() {
  Model model = Small();
  model.sample_agreement = 0.6;
  model.tables[0].thresholds = {{1e-2, 0.3, 0.05, 3000, {0.007, 0.014}},
                                {1e-3, 0.42, 0.1, 3000, {0, 0.003}}};
  const ImpostorTail tail = {0.25, 0.05, 0.08, -0.1, 4};
  model.tables[0].searches = {{1, 44, 1892, tail, {tail, tail}}, {4, 40, 1560, tail, {}}};
  return model;
}

TEST(ModelTest, SearchesAndIntervalsComeBack) {
  const Model model = WithSearches();
  const auto back = Model::Parse(model.Serialize(), "model");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->tables, model.tables);
  EXPECT_EQ(back->sample_agreement, model.sample_agreement);
  EXPECT_EQ(back->Id(), model.Id());
  EXPECT_EQ(back->DecisionId(), model.DecisionId());
  EXPECT_EQ(model.ThresholdFor(1e-2, 3)->score, 0.3);
  EXPECT_EQ(model.ThresholdForSearch(0.1, 50, 1, 3)->score,
            model.tables[0].searches[0].tail.ThresholdFor(0.1, 50));
}

// Each set of modalities has its own table; without a table there is no decision.
TEST(ModelTest, AProbeIsJudgedByTheTableOfItsModalities) {
  const Model model = Small();
  EXPECT_EQ(model.ThresholdFor(1e-3, 3)->score, 0.42);
  EXPECT_EQ(model.ThresholdFor(1e-3, 1)->score, 0.21);
  const absl::Status voice = model.ThresholdFor(1e-3, 2).status();
  EXPECT_EQ(voice.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(voice.message()), HasSubstr("probes with voice: it has tables for "
                                                      "face + voice, face;"));
  EXPECT_THAT(std::string(voice.message()), HasSubstr("heft calibrate --data DATA"));
  EXPECT_EQ(model.ThresholdForSearch(0.1, 5, 1, 2).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const uint32_t set : {0u, 4u, 5u, 0x80000001u}) {
    EXPECT_EQ(model.ThresholdFor(1e-3, set).status().code(), absl::StatusCode::kInvalidArgument);
  }
  Model none = model;
  none.tables.clear();
  ASSERT_TRUE(Model::Parse(none.Serialize(), "model").ok());
  EXPECT_THAT(std::string(none.ThresholdFor(1e-3, 3).status().message()), HasSubstr("it has none"));
}

TEST(ModelTest, SetsOfModalitiesHaveNames) {
  const Model model = Small();
  EXPECT_THAT(model.NamesOf(3), ElementsAre("face", "voice"));
  EXPECT_THAT(model.NamesOf(2), ElementsAre("voice"));
  const std::vector<std::string> both = {"voice", "face"}, other = {"iris"},
                                 twice = {"face", "face"};
  EXPECT_EQ(*model.SetOf(both), 3u);
  EXPECT_FALSE(model.SetOf(other).ok());
  EXPECT_FALSE(model.SetOf(twice).ok());
  EXPECT_FALSE(model.SetOf({}).ok());
}

TEST(ModelTest, TablesOfNoSetAreRefused) {
  const Model good = Small();
  auto refused = [&](const std::function<void(Model&)>& spoil) {
    Model bad = good;
    spoil(bad);
    return !bad.Check().ok() && !Model::Parse(bad.Serialize(), "model").ok();
  };
  for (const uint32_t set : {0u, 3u, 4u, 5u, 0x80000001u}) {
    EXPECT_TRUE(refused([&](Model& m) { m.tables[1].modalities = set; })) << set;
  }
  EXPECT_TRUE(refused([](Model& m) { std::swap(m.tables[0], m.tables[1]); }));
  EXPECT_TRUE(refused([](Model& m) { m.tables.assign(256, m.tables[0]); }));
}

TEST(ModelTest, SearchesOutOfRangeAreRefused) {
  const Model good = WithSearches();
  ASSERT_TRUE(good.Check().ok());
  auto refused = [&](const std::function<void(Model&)>& spoil) {
    Model bad = good;
    spoil(bad);
    return !Model::Parse(bad.Serialize(), "model").ok();
  };
  EXPECT_TRUE(refused([](Model& m) { m.sample_agreement = 1.5; }));
  EXPECT_TRUE(refused([](Model& m) { m.sample_agreement = std::nan(""); }));
  EXPECT_TRUE(refused([](Model& m) { m.tables[0].searches[1].templates = 1; }));
  EXPECT_TRUE(refused([](Model& m) { m.tables[0].searches[0].tail.scale = 0; }));
  EXPECT_TRUE(refused([](Model& m) { m.tables[0].searches[0].replicates[1].evenness = INFINITY; }));
  EXPECT_TRUE(refused([](Model& m) { m.tables[0].searches[0].tail.shape = 1; }));
  EXPECT_TRUE(refused([](Model& m) { m.tables[0].thresholds[0].interval = {0.5, 0.4}; }));
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
  other.tables[0].thresholds[0].score -= 0.01;
  EXPECT_EQ(other.Id(), model.Id());
  EXPECT_NE(other.DecisionId(), model.DecisionId());
  other = model;
  other.tables[1].calibration = {8, -2.5};
  EXPECT_NE(other.DecisionId(), model.DecisionId());
  other = WithSearches();
  const ModelId searched = other.Id(), decided = other.DecisionId();
  EXPECT_NE(searched, model.Id()) << "the agreement is part of what a template is";
  other.tables[0].searches[0].tail.start += 0.01;
  EXPECT_EQ(other.Id(), searched);
  EXPECT_NE(other.DecisionId(), decided);
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

// Printing it would take one stack frame for each level.
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
