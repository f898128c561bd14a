// SPDX-License-Identifier: Apache-2.0
#include "heft/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace heft {
namespace {

using ::testing::HasSubstr;

std::string Message(const absl::StatusOr<ChosenThreshold>& chosen) {
  return std::string(chosen.status().message());
}

TEST(DecisionsTest, RatesBetweenThePointsOfACurve) {
  const std::vector<DecisionThreshold> curve = {{1e-1, 0.2, 0.01, 4000, {0.08, 0.12}},
                                                {1e-2, 0.4, 0.05, 4000, {0.006, 0.015}},
                                                {1e-3, 0.5, 0.20, 4000, {0, 0.004}}};
  const auto point = ChooseThreshold(curve, 1e-2);
  ASSERT_TRUE(point.ok()) << point.status();
  EXPECT_EQ(point->score, 0.4);
  EXPECT_EQ(point->rate, 1e-2);
  EXPECT_EQ(point->interval, (RateInterval{0.006, 0.015}));
  EXPECT_EQ(point->warning, "");
  const auto between = ChooseThreshold(curve, std::sqrt(1e-3));  // half way by the logarithm
  ASSERT_TRUE(between.ok()) << between.status();
  EXPECT_NEAR(between->score, 0.3, 1e-12);
  EXPECT_NEAR(between->interval.lo, std::sqrt(1e-3) * 0.6, 1e-12) << "the wider one, in proportion";
  EXPECT_NEAR(between->interval.hi, std::sqrt(1e-3) * 1.5, 1e-12);
  EXPECT_THAT(ChooseThreshold(curve, 2e-3)->warning, HasSubstr("15000 are needed"));
  const auto beyond = ChooseThreshold(curve, 1e-4);
  EXPECT_EQ(beyond.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(beyond), HasSubstr("reach from 0.001 to 0.1"));
  EXPECT_EQ(ChooseThreshold(curve, 0.5).status().code(), absl::StatusCode::kOutOfRange);
  for (const double rate : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_EQ(ChooseThreshold(curve, rate).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(ChooseThreshold({}, 0.1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DecisionsTest, TailsAreInvertedByThresholds) {
  for (const double shape : {-0.2, 0.0, 0.3}) {
    for (const double evenness : {0.5, 3.0, 1e6}) {
      const ImpostorTail tail = {0.4, 0.05, 0.08, shape, evenness};
      for (const double fpir : {0.3, 0.1, 0.01}) {
        for (const double people : {50.0, 1000.0, 1e5}) {
          EXPECT_NEAR(tail.Fpir(tail.ThresholdFor(fpir, people), people), fpir, 1e-9 + 1e-6 * fpir);
        }
      }
    }
  }
  // Identical strangers: 1 - (1 - rate)^N.
  const ImpostorTail even = {0.4, 0.05, 0.08, -0.2, 1e9};
  const double rate = even.RateAt(0.6);
  EXPECT_NEAR(even.Fpir(0.6, 100), 1 - std::pow(1 - rate, 100), 100 * rate * rate);
  // Different strangers: fewer strangers have the same number of scores, so fewer searches return a
  // name. If names are rare, there is no difference.
  const ImpostorTail uneven = {0.4, 0.05, 0.08, -0.2, 1};
  EXPECT_LT(uneven.Fpir(0.6, 1e5), 0.9 * even.Fpir(0.6, 1e5));
  EXPECT_NEAR(uneven.Fpir(0.6, 1e-3) / even.Fpir(0.6, 1e-3), 1, 1e-3);
  // Every tail ends at a cosine of 1 or before.
  EXPECT_LT(even.ThresholdFor(1e-6, 1e9), 1);
}

TEST(DecisionsTest, SearchesAskTheCalibrationOfTheirTemplates) {
  const ImpostorTail one = {0.4, 0.05, 0.08, -0.1, 5}, four = {0.5, 0.05, 0.08, -0.1, 5};
  const std::vector<SearchCalibration> searches = {{1, 200, 40000, one, {one, four}},
                                                   {4, 200, 40000, four, {four}}};
  const auto single = ChooseSearchThreshold(searches, 0.1, 100, 1);
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->score, one.ThresholdFor(0.1, 100));
  EXPECT_NEAR(single->interval.lo, 0.1, 1e-9);
  EXPECT_GT(single->interval.hi, 0.1);
  EXPECT_EQ(ChooseSearchThreshold(searches, 0.1, 100, 2)->score, four.ThresholdFor(0.1, 100));
  EXPECT_GT(ChooseSearchThreshold(searches, 0.1, 1000)->score, single->score);
  EXPECT_EQ(ChooseSearchThreshold(searches, 0.1, 100, 4)->warning, "");
  // Six templates count as one and a half people of four.
  const auto more = ChooseSearchThreshold(searches, 0.1, 100, 6);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->score, four.ThresholdFor(0.1, 150));
  EXPECT_THAT(more->warning, HasSubstr("6 templates of a person"));
  const auto far = ChooseSearchThreshold(searches, 1e-3, 100000);
  EXPECT_EQ(far.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(far), HasSubstr("they reach to galleries of"));
  EXPECT_FALSE(ChooseSearchThreshold(searches, 0, 10).ok());
  EXPECT_FALSE(ChooseSearchThreshold(searches, 0.1, 0).ok());
  EXPECT_FALSE(ChooseSearchThreshold({}, 0.1, 10).ok());
}

// A threshold within the comparisons needs no warning; one that depends only on the tail's form has
// one.
TEST(DecisionsTest, ASearchBeyondItsComparisonsWarns) {
  const ImpostorTail tail = {0.4, 0.05, 0.08, -0.1, 5};
  const std::vector<SearchCalibration> searches = {{1, 50, 2450, tail, {tail}}};
  EXPECT_EQ(ChooseSearchThreshold(searches, 0.1, 20)->warning, "");
  const auto beyond = ChooseSearchThreshold(searches, 1e-2, 200);
  ASSERT_TRUE(beyond.ok()) << beyond.status();
  EXPECT_THAT(beyond->warning, HasSubstr("beyond what the 2450 comparisons of 50 people show"));
}

// The largest gallery that an error names must be accepted.
TEST(DecisionsTest, ARefusalSaysHowFarTheDataReach) {
  const ImpostorTail tail = {0.4, 0.05, 0.08, -0.1, 5};
  const std::vector<SearchCalibration> searches = {{1, 50, 2450, tail, {}}};
  const std::string message = Message(ChooseSearchThreshold(searches, 1e-2, 1 << 20));
  const std::string before = "galleries of ";
  const uint64_t most = std::stoull(message.substr(message.find(before) + before.size()));
  EXPECT_GT(most, 10u);
  EXPECT_TRUE(ChooseSearchThreshold(searches, 1e-2, most).ok());
  EXPECT_FALSE(ChooseSearchThreshold(searches, 1e-2, most + 2).ok());
}

}  // namespace
}  // namespace heft
