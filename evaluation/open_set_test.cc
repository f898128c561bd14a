// SPDX-License-Identifier: Apache-2.0
#include "evaluation/open_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/impostor_tail.h"
#include "features/random.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

// Templates of people in `dimension` dimensions, `samples` each; strangers are Gaussian clouds that
// lie where people do: a person's own direction, and noise.
struct Crowd {
  FeatureMatrix unit;
  std::vector<int> identities;
};
Crowd MakeCrowd(size_t people, int samples, uint64_t seed, int dimension = 24, double noise = 0.7) {
  Random random(seed);
  Crowd crowd;
  crowd.unit.resize(static_cast<Eigen::Index>(people) * samples, dimension);
  for (size_t p = 0; p < people; ++p) {
    Eigen::RowVectorXd own(dimension);
    for (int d = 0; d < dimension; ++d) own[d] = random.Normal();
    // Some people are more like others than most are.
    own[0] += 2.5 * std::abs(random.Normal());
    for (int s = 0; s < samples; ++s) {
      const auto row = static_cast<Eigen::Index>(p) * samples + s;
      for (int d = 0; d < dimension; ++d) {
        crowd.unit(row, d) = own[d] + noise * random.Normal();
      }
      crowd.unit.row(row).normalize();
      crowd.identities.push_back(static_cast<int>(p));
    }
  }
  return crowd;
}
LabelledScores AllScores(const Crowd& crowd) {
  return {crowd.unit * crowd.unit.transpose(), crowd.identities};
}

std::vector<LabelledScores> OneSet(const Crowd& crowd) { return {AllScores(crowd)}; }

// Known answer: a tail is recovered from its own quantiles, and strangers that are all alike are
// found to be.
TEST(OpenSetTest, WhatIsFittedIsWhatWasDrawn) {
  Random random(3);
  const size_t people = 300;
  LabelledScores scores;
  scores.scores.resize(people, people);
  const ImpostorTail truth = {0.5, 0.05, 0.1, 0, 1e6};
  for (size_t i = 0; i < people; ++i) {
    scores.identities.push_back(static_cast<int>(i));
    for (size_t j = 0; j < people; ++j) {
      const double u = random.Uniform();
      scores.scores(i, j) = u > truth.rate ? 0.5 * (1 - u) : internal::ScoreAtShare(truth, u);
    }
  }
  const auto fit = FitSearches(std::span(&scores, 1), 1, {.replicates = 20});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->tail.rate, truth.rate, 0.003);
  EXPECT_NEAR(fit->tail.start, truth.start, 0.01);
  EXPECT_NEAR(fit->tail.scale, truth.scale, 0.01);
  EXPECT_NEAR(fit->tail.shape, truth.shape, 0.04);
  EXPECT_GT(fit->tail.evenness, 20) << "all strangers are alike here";
}

// Strangers of two kinds, one with nine times the other's rate: the squared variation of their
// rates is 0.64, as if the evenness were 1.56.
TEST(OpenSetTest, UnevenStrangersAreFound) {
  Random random(4);
  const size_t people = 400;
  LabelledScores scores;
  scores.scores.resize(people, people);
  const ImpostorTail even = {0.5, 0.05, 0.1, 0, 1e6};
  for (size_t i = 0; i < people; ++i) {
    scores.identities.push_back(static_cast<int>(i));
    const double rate = i % 2 == 0 ? 1.8 : 0.2;
    for (size_t j = 0; j < people; ++j) {
      const double u = random.Uniform() / rate;
      scores.scores(i, j) = u > even.rate ? 0.4 * std::exp(-u) : internal::ScoreAtShare(even, u);
    }
  }
  const auto fit = FitSearches(std::span(&scores, 1), 1, {.replicates = 50});
  ASSERT_TRUE(fit.ok()) << fit.status();
  // Measured at one comparison of a hundred, and brought to the start.
  const double deviations =
      std::sqrt(std::log1p(1 / fit->tail.evenness)) * std::log(0.01) / std::log(fit->tail.rate);
  EXPECT_NEAR(1 / std::expm1(deviations * deviations), 1 / 0.64, 0.25);
  size_t below = 0;
  for (const ImpostorTail& tail : fit->replicates) below += tail.evenness < fit->tail.evenness;
  EXPECT_GT(below, 5u) << "resampling adds no unevenness of its own";
  EXPECT_LT(below, 45u);
}

// The claim: the FPIR requested on some people is the FPIR seen on others, also in galleries larger
// than the set of people that was fitted.
TEST(OpenSetTest, FpirOnNewPeopleIsWhatWasAskedFor) {
  const auto calibration = FitSearches(OneSet(MakeCrowd(200, 3, 5)), 1, {.replicates = 200});
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  for (const uint64_t people : {10, 100, 1000}) {
    const Crowd gallery = MakeCrowd(people, 1, 6), strangers = MakeCrowd(3000, 1, 7);
    const Eigen::VectorXd best = (strangers.unit * gallery.unit.transpose()).rowwise().maxCoeff();
    for (const double fpir : {0.1, 0.01}) {
      const auto chosen = ChooseSearchThreshold(std::span(&*calibration, 1), fpir, people);
      ASSERT_TRUE(chosen.ok()) << chosen.status();
      const double seen = (best.array() >= chosen->score).cast<double>().mean();
      EXPECT_LE(chosen->interval.lo, fpir);
      EXPECT_GE(chosen->interval.hi, fpir);
      // Its interval, and what 3,000 searches leave open (three deviations).
      const double open = 3 * std::sqrt(fpir / 3000.0);
      EXPECT_GT(seen, chosen->interval.lo - open) << people << " " << fpir;
      EXPECT_LT(seen, chosen->interval.hi + open) << people << " " << fpir;
    }
  }
}

// People with more templates than the calibration knows raise no false alarms beyond the rate
// asked.
TEST(OpenSetTest, MoreTemplatesThanWereCalibratedKeepTheRate) {
  const auto calibration = FitSearches(OneSet(MakeCrowd(200, 3, 5)), 2, {.replicates = 200});
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  constexpr size_t kGallery = 100;
  const Crowd strangers = MakeCrowd(3000, 1, 7);
  for (const int templates : {3, 6, 12}) {
    const Crowd gallery = MakeCrowd(kGallery, templates, 6);
    const Eigen::VectorXd best = (strangers.unit * gallery.unit.transpose()).rowwise().maxCoeff();
    for (const double fpir : {0.1, 0.01}) {
      const auto chosen =
          ChooseSearchThreshold(std::span(&*calibration, 1), fpir, kGallery, templates);
      ASSERT_TRUE(chosen.ok()) << chosen.status();
      const double seen = (best.array() >= chosen->score).cast<double>().mean();
      EXPECT_LT(seen, chosen->interval.hi + 3 * std::sqrt(fpir / 3000.0))
          << templates << " " << fpir;
      EXPECT_NE(chosen->warning, "") << templates;
    }
  }
}

// The truth of a law of people: for each of many strangers the share of many others that reaches a
// score, in steps.
class Law {
 public:
  explicit Law(double wolves) : wolves_(wolves) {
    constexpr size_t kStrangers = 1000, kPeople = 4000;
    const Crowd strangers = Draw(kStrangers, 1, 999), people = Draw(kPeople, 1, 998);
    for (size_t i = 0; i < kStrangers; ++i) {
      const Eigen::VectorXd scores =
          people.unit * strangers.unit.row(static_cast<Eigen::Index>(i)).transpose();
      std::vector<double>& share = shares_.emplace_back(kSteps + 1);
      for (double s : scores) share[StepOf(s)] += 1.0 / kPeople;
      for (size_t k = kSteps; k > 0; --k) share[k - 1] += share[k];
    }
  }
  // Draws people who vary more in some directions than in others; some of them are like everybody.
  Crowd Draw(size_t people, int samples, uint64_t seed) const {
    constexpr int kDimension = 32;
    Random random(seed);
    Crowd crowd;
    crowd.unit.resize(static_cast<Eigen::Index>(people) * samples, kDimension);
    for (size_t p = 0; p < people; ++p) {
      Eigen::RowVectorXd own(kDimension), noise(kDimension);
      for (int d = 0; d < kDimension; ++d) own[d] = random.Normal() / std::sqrt(1 + 0.15 * d);
      own[0] += wolves_ * std::abs(random.Normal());
      for (int s = 0; s < samples; ++s) {
        for (int d = 0; d < kDimension; ++d) noise[d] = 0.5 * random.Normal();
        crowd.unit.row(static_cast<Eigen::Index>(p) * samples + s) = (own + noise).normalized();
        crowd.identities.push_back(static_cast<int>(p));
      }
    }
    return crowd;
  }
  double Fpir(double threshold, double people) const {
    double sum = 0;
    for (const auto& share : shares_) {
      sum -= std::expm1(people * std::log1p(-share[StepOf(threshold)]));
    }
    return sum / static_cast<double>(shares_.size());
  }

 private:
  static constexpr size_t kSteps = 4000;
  static size_t StepOf(double score) {
    return static_cast<size_t>(std::clamp((score + 1) / 2, 0.0, 1 - 1e-9) * kSteps);
  }
  double wolves_;
  std::vector<std::vector<double>> shares_;
};

// The claim of an interval: of many draws of people it holds the true rate in about 95 of 100.
TEST(OpenSetTest, IntervalsOfFpirHoldTheTruth) {
  constexpr int kTrials = 40;
  for (const double wolves : {0.0, 2.0}) {
    const Law law(wolves);
    int held = 0, asked = 0;
    double ratio = 0;
    for (uint64_t trial = 0; trial < kTrials; ++trial) {
      std::vector<LabelledScores> sets;
      for (uint64_t k = 0; k < 4; ++k) {
        sets.push_back(AllScores(law.Draw(40, 3, 1000 + 10 * trial + k)));
      }
      const auto fit = FitSearches(sets, 1, {.replicates = 100});
      ASSERT_TRUE(fit.ok()) << fit.status();
      for (const auto& [fpir, people] : {std::pair(0.1, 10), {0.1, 100}, {0.1, 500}, {0.01, 20}}) {
        const auto chosen = ChooseSearchThreshold(std::span(&*fit, 1), fpir, people);
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        const double truth = law.Fpir(chosen->score, people);
        held += chosen->interval.lo <= truth && truth <= chosen->interval.hi;
        ratio += std::log(truth / fpir);
        ++asked;
      }
    }
    RecordProperty("held_of_160_with_wolves_" + std::to_string(wolves), held);
    EXPECT_GE(held, asked * 85 / 100) << wolves;
    EXPECT_NEAR(std::exp(ratio / asked), 1, 0.25) << wolves;
  }
}

TEST(OpenSetTest, WhatTheDataDoNotTellIsRefused) {
  const auto few = FitSearches(OneSet(MakeCrowd(20, 2, 5)), 1, {.replicates = 10});
  ASSERT_TRUE(few.ok()) << few.status();
  const auto far = ChooseSearchThreshold(std::span(&*few, 1), 1e-2, 1000000);
  EXPECT_EQ(far.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(far.status().message()), HasSubstr("they reach to galleries of"));
  EXPECT_FALSE(FitSearches(OneSet(MakeCrowd(9, 2, 5))).ok());
}

TEST(OpenSetTest, SearchesAreCountedAsTheStandardSays) {
  // Two people with two templates and one; their probes, and a stranger's.
  FeatureMatrix scores(4, 3);
  scores << 0.9, 0.2, 0.3,  // of person 0: right, 0.9
      0.4, 0.1, 0.6,        // of person 0: second
      0.1, 0.5, 0.5,        // of person 1: a tie is lost
      0.7, 0.0, 0.1;        // of a stranger
  const std::vector<int> probes = {0, 0, 1, 9}, templates = {0, 0, 1};
  SearchTally tally, without_strangers;
  ASSERT_TRUE(tally.Add(scores, probes, templates).ok());
  const auto errors = tally.Finish();
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->strangers, 1u);
  EXPECT_EQ(errors->mated, 3u);
  ASSERT_EQ(errors->thresholds, (std::vector<double>{0.7, 0.9}));
  EXPECT_EQ(errors->fpir, (std::vector<double>{1, 0}));
  EXPECT_NEAR(errors->fnir[0], 2.0 / 3, 1e-12);
  EXPECT_NEAR(errors->fnir[1], 2.0 / 3, 1e-12);
  EXPECT_NEAR(errors->match_rates[0], 1.0 / 3, 1e-12);
  EXPECT_NEAR(errors->match_rates[1], 1.0, 1e-12);
  ASSERT_TRUE(without_strangers.Add(scores, {{0, 0, 1, 0}}, templates).ok());
  EXPECT_FALSE(without_strangers.Finish().ok()) << "no stranger";
}

}  // namespace
}  // namespace heft
