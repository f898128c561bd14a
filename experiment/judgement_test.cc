// SPDX-License-Identifier: Apache-2.0
#include "experiment/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/thresholds.h"
#include "experiment/fusion_check.h"
#include "features/random.h"

namespace heft::experiment {
namespace {

using ::testing::HasSubstr;

// Cosines of people in 16 dimensions.
LabelledScores CrowdScores(uint64_t seed, int people, int samples) {
  constexpr int kDimension = 16;
  Random random(seed);
  FeatureMatrix unit(people * samples, kDimension);
  LabelledScores set;
  for (int p = 0; p < people; ++p) {
    Eigen::RowVectorXd own(kDimension);
    for (double& v : own) v = random.Normal();
    for (int s = 0; s < samples; ++s) {
      Eigen::RowVectorXd sample = own;
      for (double& v : sample) v += 0.6 * random.Normal();
      unit.row(p * samples + s) = sample.normalized();
      set.identities.push_back(p);
    }
  }
  set.scores = unit * unit.transpose();
  return set;
}

// A model with thresholds and evidence fitted on these people.
Model Calibrated(const LabelledScores& scores) {
  Model model;
  model.modalities = {{"face", 8}, {"voice", 8}};
  const std::span<const LabelledScores> sets(&scores, 1);
  DecisionTable table = {model.AllModalities()};
  table.thresholds = CalibrateThresholds(sets, {.replicates = 50})->thresholds;
  table.calibration = *CalibrateScores(sets);
  for (uint32_t templates : {1u, 2u}) {
    table.searches.push_back(*FitSearches(sets, templates, {.replicates = 50}));
  }
  model.tables.push_back(std::move(table));
  return model;
}

TEST(Judgement, OfNewPeopleHolds) {
  const Model a = Calibrated(CrowdScores(1, 60, 5)), b = Calibrated(CrowdScores(2, 60, 5));
  const JudgedSet sets[] = {{CrowdScores(3, 40, 5), &a}, {CrowdScores(4, 40, 5), &b}};
  const auto judged = Judge(sets, {.replicates = 100});
  ASSERT_TRUE(judged.ok()) << judged.status();
  ASSERT_EQ(judged->comparisons.size(), 3u);
  for (const RateCheck& check : judged->comparisons) {
    EXPECT_EQ(check.refused, "");
    EXPECT_NE(check.verdict(), Verdict::kDoesNotHold)
        << check.asked << " " << check.ratio.lo << " " << check.ratio.hi;
    EXPECT_NEAR(check.MissedOverAllowed(), 1, 0.3);
    EXPECT_LT(check.ratio.hi / check.ratio.lo, check.asked == 1e-3 ? 60 : 8);
  }
  ASSERT_TRUE(judged->evidence.has_value());
  EXPECT_LT(judged->evidence->loss.value, 0.05);
  ASSERT_EQ(judged->searches.size(), 6u) << "two rates, with 1, 2 and 4 templates";
  for (const SearchCheck& search : judged->searches) {
    EXPECT_EQ(search.people, 20u);
    EXPECT_EQ(search.rate.refused, "");
    // The model knows two templates of a person. Four have a threshold that may be too high.
    EXPECT_LE(search.rate.ratio.lo, 1) << search.templates << " " << search.rate.asked;
    if (search.templates == 4) continue;
    EXPECT_NE(search.rate.verdict(), Verdict::kDoesNotHold)
        << search.templates << " " << search.rate.asked;
  }
  EXPECT_EQ(judged->curves.size(), 3u);
  EXPECT_TRUE(BrokenPromises(*judged).empty());
  const Json json = JudgementJson(*judged);
  EXPECT_EQ(json["comparisons"].size(), 3u);
  EXPECT_EQ(json["comparisons"][0]["verdict"], "holds");
  EXPECT_GT(json["comparisons"][0]["fnmr_over_allowed"].get<double>(), 0);
  EXPECT_TRUE(json["searches"][0].contains("fnir_over_allowed"));
  EXPECT_FALSE(json["searches"][4].contains("refused"));
}

// Few people reach to no rare rate. The judgement says so, and what the ROC allows.
TEST(Judgement, RefusesWhatTheModelDoesNotKnow) {
  const Model few = Calibrated(CrowdScores(1, 10, 2));
  const JudgedSet sets[] = {{CrowdScores(3, 400, 2), &few}};
  const auto judged = Judge(sets, {.replicates = 20});
  ASSERT_TRUE(judged.ok()) << judged.status();
  int refused = 0;
  const Json json = JudgementJson(*judged);
  for (size_t i = 0; i < judged->searches.size(); ++i) {
    if (judged->searches[i].rate.refused.empty()) continue;
    ++refused;
    EXPECT_THAT(judged->searches[i].rate.refused, HasSubstr("farther out"));
    EXPECT_TRUE(json["searches"][i].contains("refused"));
    EXPECT_LT(json["searches"][i]["fnir_allowed"].get<double>(), 1) << "known all the same";
  }
  EXPECT_GT(refused, 0);
  EXPECT_THAT(JudgementText(*judged), HasSubstr("refused: "));
}

// Probes of one modality are judged by their own table, not by that of whole probes.
TEST(Judgement, PartialProbesHaveThresholdsOfTheirOwn) {
  Model model = Calibrated(CrowdScores(1, 60, 5));
  DecisionTable faces = model.tables[0];
  faces.modalities = 1;
  for (DecisionThreshold& t : faces.thresholds) t.score += 0.5;
  model.tables.push_back(faces);
  LabelledScores scores = CrowdScores(3, 60, 5);
  const JudgedSet set = {scores, &model};
  auto judged = Judge({&set, 1}, {.replicates = 100});
  ASSERT_TRUE(judged.ok()) << judged.status();
  EXPECT_EQ(JudgementJson(*judged)["partial_probes"].size(), 0u);
  scores.scores.array() += 0.5;
  ASSERT_TRUE(JudgePartial(scores, model, 1, {.replicates = 100}, &*judged).ok());
  ASSERT_EQ(judged->partial.size(), 1u);
  ASSERT_EQ(judged->partial[0].comparisons.size(), judged->comparisons.size());
  for (size_t k = 0; k < judged->comparisons.size(); ++k) {
    EXPECT_EQ(judged->partial[0].comparisons[k].measured.value,
              judged->comparisons[k].measured.value);
  }
  const Json json = JudgementJson(*judged)["partial_probes"];
  EXPECT_EQ(json[0]["modalities"], Json({"face"}));
  EXPECT_EQ(json[0]["comparisons"][0]["verdict"], "holds");
  EXPECT_TRUE(BrokenPromises(*judged).empty());
  // The model has no table for voices.
  ASSERT_TRUE(JudgePartial(scores, model, 2, {.replicates = 100}, &*judged).ok());
  EXPECT_THAT(judged->partial[1].comparisons[0].refused, HasSubstr("voice"));
  // Scores as of whole probes are below all thresholds for faces.
  scores.scores.array() -= 0.5;
  ASSERT_TRUE(JudgePartial(scores, model, 1, {.replicates = 100}, &*judged).ok());
  const std::vector<std::string> broken = BrokenPromises(*judged);
  ASSERT_FALSE(broken.empty());
  EXPECT_THAT(broken[0], HasSubstr("OF PROBES WITH face ALONE"));
}

// A model whose thresholds are of other people than it says is found out.
TEST(Judgement, WhatDoesNotHoldIsSaid) {
  Model model = Calibrated(CrowdScores(1, 60, 5));
  for (DecisionThreshold& t : model.tables[0].thresholds) t.score -= 0.15;
  model.tables[0].calibration->slope *= 3;
  const JudgedSet set = {CrowdScores(3, 60, 5), &model};
  const auto judged = Judge({&set, 1}, {.replicates = 100});
  ASSERT_TRUE(judged.ok()) << judged.status();
  EXPECT_EQ(judged->comparisons[1].verdict(), Verdict::kDoesNotHold);
  EXPECT_GT(judged->comparisons[1].ratio.lo, 1);
  EXPECT_GT(judged->evidence->loss.lo, 0.05);
  EXPECT_THAT(JudgementText(*judged), HasSubstr("DOES NOT HOLD"));
  const std::vector<std::string> broken = BrokenPromises(*judged);
  ASSERT_FALSE(broken.empty());
  EXPECT_THAT(broken[0], HasSubstr("THE THRESHOLD FOR FMR"));
  EXPECT_THAT(broken[0], HasSubstr("Do not decide by it"));
}

TEST(CheckRate, JoinsBothIntervals) {
  const RateCheck alone = CheckRate(0.01, {0.02, 0.01, 0.04}, {0.01, 0.01});
  EXPECT_NEAR(alone.ratio.value, 2, 1e-12);
  EXPECT_NEAR(alone.ratio.lo, 1, 1e-12);
  EXPECT_NEAR(alone.ratio.hi, 4, 1e-12);
  const RateCheck joined = CheckRate(0.01, {0.02, 0.01, 0.04}, {0.005, 0.02});
  EXPECT_NEAR(joined.ratio.lo, 2 * std::pow(2, -std::sqrt(2)), 1e-12);
  EXPECT_NEAR(joined.ratio.hi, 2 * std::pow(2, std::sqrt(2)), 1e-12);
  const RateCheck unsaid = CheckRate(0.01, {0.02, 0.01, 0.04}, {});
  EXPECT_NEAR(unsaid.ratio.hi, 4, 1e-12);
  const RateCheck none = CheckRate(0.01, {0, 0, 0.004}, {0.005, 0.02});
  EXPECT_EQ(none.ratio.lo, 0);
  EXPECT_NEAR(none.ratio.hi, 0.8, 1e-12);
  EXPECT_EQ(none.verdict(), Verdict::kDoesNotHold);
}

TEST(Verdict, HoldsOnlyWithinAFactorOfThree) {
  const auto verdict = [](double value, double lo, double hi) {
    RateCheck check;
    check.ratio = {value, lo, hi};
    return VerdictName(check.verdict());
  };
  EXPECT_EQ(verdict(1.1, 0.5, 2), "holds");
  EXPECT_EQ(verdict(0.5, 0.2, 1.4), "holds");
  EXPECT_EQ(verdict(1, 0.3, 2), "too_few_people");
  EXPECT_EQ(verdict(1, 0.5, 3.1), "too_few_people");
  EXPECT_EQ(verdict(0.03, 0.01, 0.1), "does_not_hold");
  EXPECT_EQ(verdict(9, 1.1, 80), "does_not_hold") << "a wide interval that excludes 1 says enough";
  EXPECT_EQ(verdict(0, 0, 1.5), "too_few_people");
  EXPECT_EQ(verdict(0, 0, 0.9), "does_not_hold");
}

TEST(Verdict, SaysWhatAStrictThresholdCosts) {
  Judgement judgement;
  RateCheck& check = judgement.comparisons.emplace_back(CheckRate(0.01, {3e-4, 1e-4, 8e-4}, {}));
  check.missed.value = 0.167;
  check.allowed_missed = 0.016;
  EXPECT_NEAR(check.MissedOverAllowed(), 10.4, 0.1);
  const std::vector<std::string> broken = BrokenPromises(judgement);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_THAT(broken[0], HasSubstr("FNMR 0.167, although 0.016 is possible"));
  check.missed.value = 0.016;
  EXPECT_THAT(BrokenPromises(judgement)[0], HasSubstr("at no cost for these people"));
  check.allowed_missed = 0;
  const Json json = JudgementJson(judgement);
  EXPECT_TRUE(json["comparisons"][0]["fnmr_over_allowed"].is_null());
}

TEST(FusionCheck, NamesWhomFusionLosesTo) {
  const auto row = [](const char* id, double fnmr) {
    FoldRow r;
    r.system = {id, id, 8};
    r.estimate.tmr_1e3.value = 1 - fnmr;
    return r;
  };
  Model model;
  model.modalities = {{"iris", 8}, {"gait", 8}};
  model.training_summary = R"({"fusion":{"warning":"iris alone is better"}})";
  const Rival rivals[] = {{row("gait", 0.7), {}, {-0.6, -0.7, -0.5}},
                          {row("iris", 0.08), {}, {0.02, 0.01, 0.03}},
                          {row("concatenation", 0.09), {}, {0.01, -0.005, 0.02}},
                          {row("score_sum", 0.099), {}, {0.001, -0.02, 0.01}},
                          {row("lda", 0.01), {}, {0.09, 0.08, 0.1}}};
  const Model models[] = {model, model};
  const FusionCheck check = CheckFusion(row("fhe_aware_encrypted", 0.1), rivals, models);
  ASSERT_EQ(check.rivals.size(), 3u);
  EXPECT_EQ(check.rivals[0].row.system.id, "iris");
  const std::vector<std::string> losses = check.Losses();
  ASSERT_EQ(losses.size(), 3u) << "the weighted sum may be as good";
  EXPECT_THAT(losses[0], HasSubstr("FUSION IS WORSE than \"iris\""));
  EXPECT_THAT(losses[0], HasSubstr("0.1000 against 0.0800 (+0.0200 [+0.0100, +0.0300])"));
  EXPECT_THAT(losses[0], HasSubstr("Use iris alone"));
  EXPECT_THAT(losses[1], HasSubstr("fusion loses to \"concatenation\""));
  EXPECT_THAT(losses[1], HasSubstr("which may be chance. Use --method none"));
  EXPECT_THAT(losses[2], HasSubstr("training: iris alone is better"));
  const Json json = FusionJson(check);
  EXPECT_TRUE(json["rivals"][0]["significant"].get<bool>());
  EXPECT_FALSE(json["rivals"][2]["loses"].get<bool>());
}

}  // namespace
}  // namespace heft::experiment
