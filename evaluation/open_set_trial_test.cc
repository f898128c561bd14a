// SPDX-License-Identifier: Apache-2.0
#include "evaluation/open_set_trial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "features/random.h"

namespace heft {
namespace {

// Scores that are noise between people and `same` more within one.
LabelledScores Noise(uint64_t seed, int people, int samples, double same, double own = 0) {
  Random random(seed);
  LabelledScores set;
  std::vector<double> like;
  for (int p = 0; p < people; ++p) {
    like.push_back(own * random.Normal());
    for (int s = 0; s < samples; ++s) set.identities.push_back(p);
  }
  const Eigen::Index n = people * samples;
  set.scores.resize(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto a = set.identities[static_cast<size_t>(i)];
      const auto b = set.identities[static_cast<size_t>(j)];
      set.scores(i, j) = random.Normal() + like[static_cast<size_t>(a)] +
                         like[static_cast<size_t>(b)] + (a == b ? same : 0);
    }
  }
  return set;
}

TEST(OpenSetTrial, EnrolsHalfOfThoseWhoCan) {
  const int identities[] = {0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 4};
  EXPECT_EQ(GallerySize(identities, 1), 2u);
  EXPECT_EQ(GallerySize(identities, 2), 2u);
  EXPECT_EQ(GallerySize(identities, 3), 0u);
  EXPECT_EQ(GallerySize(std::span(identities, 3), 1), 0u) << "nobody would be a stranger";
}

// Known answer: people all alike. With q the chance that an impostor's score reaches t, FPIR is
// 1 - (1 - q)^N; a person of rank 1 beyond t is found.
TEST(OpenSetTrial, RatesAreThoseOfTheLaw) {
  const LabelledScores sets[] = {Noise(1, 60, 4, 4), Noise(2, 60, 4, 4)};
  const double t = 2.5, q = std::erfc(t / std::sqrt(2.0)) / 2;
  const std::vector<double> thresholds[] = {{t, 100.0}, {t, 100.0}};
  for (const uint32_t templates : {1u, 2u}) {
    const auto outcome = TryOpenSet(sets, thresholds, {.templates = templates, .halves = 20});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const double expected = 1 - std::pow(1 - q, 30.0 * templates);
    EXPECT_NEAR(outcome->at[0].fpir.value, expected, 0.03);
    EXPECT_LE(outcome->at[0].fpir.lo, expected);
    EXPECT_GE(outcome->at[0].fpir.hi, expected);
    EXPECT_EQ(outcome->at[1].fpir.value, 0);
    EXPECT_GT(outcome->at[1].fpir.hi, 0) << "not seen is not impossible";
    EXPECT_EQ(outcome->at[1].fnir.value, 1);
    EXPECT_EQ(outcome->curve.strangers, 2u * 20 * 30 * 4);
    EXPECT_EQ(outcome->curve.mated, 2u * 20 * 30 * (4 - templates));
    // The curve of all searches goes through the rates at single thresholds.
    const auto at = std::ranges::lower_bound(outcome->curve.thresholds, t);
    const auto k = static_cast<size_t>(at - outcome->curve.thresholds.begin());
    EXPECT_NEAR(outcome->curve.fpir[k], outcome->at[0].fpir.value, 1e-12);
    EXPECT_NEAR(outcome->curve.fnir[k], outcome->at[0].fnir.value, 1e-12);
  }
}

// The claim of the interval: it holds the rate of many draws in about 95 of 100, although some
// people are like everybody.
TEST(OpenSetTrial, IntervalsHoldTheTruth) {
  constexpr int kTrials = 60;
  const std::vector<double> thresholds = {3.2, 4.2};
  double truth[2] = {};
  std::vector<OpenSetOutcome> outcomes;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    std::vector<LabelledScores> sets;
    for (uint64_t k = 0; k < 3; ++k) sets.push_back(Noise(10 * trial + k + 1, 30, 3, 4, 0.5));
    auto outcome = TryOpenSet(sets, std::vector(3, thresholds), {.halves = 10});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    for (size_t k = 0; k < 2; ++k) truth[k] += outcome->at[k].fpir.value / kTrials;
    outcomes.push_back(*std::move(outcome));
  }
  for (size_t k = 0; k < 2; ++k) {
    int held = 0;
    for (const OpenSetOutcome& o : outcomes) {
      held += o.at[k].fpir.lo <= truth[k] && truth[k] <= o.at[k].fpir.hi;
    }
    RecordProperty("held_of_60_" + std::to_string(k), held);
    EXPECT_GE(held, 51) << truth[k];
  }
}

// People of a gallery search it as strangers, without their own templates. Scores are symmetric, so
// false positives come in pairs; the interval holds the rate of many galleries all the same.
TEST(SearchGallery, LeavesTheOwnTemplateOut) {
  constexpr int kPeople = 150, kTrials = 60;
  const std::vector<double> thresholds = {0.87};
  std::vector<Estimate> rates;
  double truth = 0;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    Random random(trial + 1);
    FeatureMatrix unit(kPeople, 8);
    for (double& value : unit.reshaped()) value = random.Normal();
    unit.rowwise().normalize();
    // Person 0 searches once more with the template itself, the others without theirs.
    FeatureMatrix scores(kPeople + 1, kPeople);
    scores << unit.row(0) * unit.transpose(), unit * unit.transpose();
    std::vector<int> probes = {0}, templates, left_out = {-1};
    for (int p = 0; p < kPeople; ++p) {
      probes.push_back(p);
      templates.push_back(p);
      left_out.push_back(p);
    }
    const auto outcome = SearchGallery(scores, probes, templates, thresholds, left_out);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->curve.strangers, static_cast<uint64_t>(kPeople));
    EXPECT_EQ(outcome->curve.mated, 1u);
    EXPECT_EQ(outcome->at[0].fnir.value, 0);
    rates.push_back(outcome->at[0].fpir);
    truth += rates.back().value / kTrials;
    left_out.pop_back();
    EXPECT_FALSE(SearchGallery(scores, probes, templates, thresholds, left_out).ok());
  }
  EXPECT_GT(truth, 0.05);
  EXPECT_LT(truth, 0.5);
  int held = 0;
  for (const Estimate& rate : rates) held += rate.lo <= truth && truth <= rate.hi;
  EXPECT_GE(held, 51) << truth;
}

TEST(OpenSetTrial, WhatDoesNotGoTogetherIsRefused) {
  const LabelledScores set = Noise(1, 10, 2, 3);
  const std::vector<double> none, one = {1.0};
  EXPECT_TRUE(TryOpenSet({&set, 1}, {&one, 1}, {.halves = 1}).ok());
  EXPECT_FALSE(TryOpenSet({&set, 1}, {}, {}).ok());
  EXPECT_FALSE(TryOpenSet({&set, 1}, {&one, 1}, {.templates = 2}).ok());
  EXPECT_FALSE(TryOpenSet({&set, 1}, {&one, 1}, {.halves = 0}).ok());
}

}  // namespace
}  // namespace heft
