// SPDX-License-Identifier: Apache-2.0
#include "evaluation/open_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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

// Known answer: a generalised Pareto tail is recovered from its own quantiles.
TEST(OpenSetTest, WhatIsFittedIsWhatWasDrawn) {
  Random random(3);
  const size_t people = 300;
  LabelledScores scores;
  scores.scores.resize(people, people);
  const ImpostorTail truth = {0.5, 0.05, 0.1, -0.25, 1e6};
  for (size_t i = 0; i < people; ++i) {
    scores.identities.push_back(static_cast<int>(i));
    for (size_t j = 0; j < people; ++j) {
      const double u = random.Uniform();
      scores.scores(i, j) = u > truth.rate
                                ? 0.5 * (1 - u)
                                : truth.start + truth.scale / truth.shape *
                                                    (std::pow(u / truth.rate, -truth.shape) - 1);
    }
  }
  const auto fit = FitSearches(std::span(&scores, 1), 1, {.replicates = 20});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->tail.rate, truth.rate, 0.003);
  EXPECT_NEAR(fit->tail.start, truth.start, 0.01);
  EXPECT_NEAR(fit->tail.scale, truth.scale, 0.012);
  EXPECT_NEAR(fit->tail.shape, truth.shape, 0.08);
  EXPECT_GT(fit->tail.evenness, 20) << "all strangers are alike here";
}

// The claim: what is asked for on some people is what is seen on others, in galleries that are
// larger than the people it was learned from too.
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
  const auto errors = MeasureSearches(scores, probes, templates);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->strangers, 1u);
  EXPECT_EQ(errors->mated, 3u);
  ASSERT_EQ(errors->thresholds, (std::vector<double>{0.7, 0.9}));
  EXPECT_EQ(errors->fpir, (std::vector<double>{1, 0}));
  EXPECT_NEAR(errors->fnir[0], 2.0 / 3, 1e-12);
  EXPECT_NEAR(errors->fnir[1], 2.0 / 3, 1e-12);
  EXPECT_NEAR(errors->match_rates[0], 1.0 / 3, 1e-12);
  EXPECT_NEAR(errors->match_rates[1], 1.0, 1e-12);
  EXPECT_FALSE(MeasureSearches(scores, {{0, 0, 1, 0}}, templates).ok()) << "no stranger";
}

}  // namespace
}  // namespace heft
