// SPDX-License-Identifier: Apache-2.0
#include "service/console/traffic.h"

#include <gtest/gtest.h>

namespace heft::service {
namespace {

constexpr uint64_t kNow = 1'800'000'000;

TEST(TrafficTest, CountsAnHourByMinutes) {
  Traffic traffic;
  for (int i = 0; i < 99; ++i) traffic.Observe("identify", 200, 0.010, kNow);
  traffic.Observe("identify", 500, 1.0, kNow);
  traffic.Observe("enrol", 403, 0.002, kNow - 120);
  traffic.Observe("enrol", 201, 0.002, kNow - 3600);
  const auto read = traffic.Read(kNow);
  ASSERT_EQ(read["minutes"].size(), 60u);
  EXPECT_EQ(read["minutes"][59]["requests"], 100);
  EXPECT_EQ(read["minutes"][57]["requests"], 1);
  EXPECT_EQ(read["minutes"][58]["requests"], 0);
  EXPECT_TRUE(read["minutes"][58]["p50_ms"].is_null());
  EXPECT_EQ(read["total"]["requests"], 101) << "an hour ago is no longer";
  EXPECT_EQ(read["total"]["errors"], 2);
  EXPECT_EQ(read["total"]["failures"], 1);
  ASSERT_EQ(read["operations"].size(), 2u);
  EXPECT_EQ(read["operations"][0]["operation"], "enrol");
}

TEST(TrafficTest, TimesAreRightWithinATenth) {
  for (const double seconds : {0.0001, 0.0123, 0.5, 9.0}) {
    Traffic traffic;
    for (int i = 0; i < 10; ++i) traffic.Observe("identify", 200, seconds, kNow);
    const double median = traffic.Read(kNow)["total"]["p50_ms"].get<double>();
    EXPECT_NEAR(median / (seconds * 1000), 1, 0.1) << seconds;
  }
}

TEST(TrafficTest, TheNinetyNinthOfAHundredIsNotTheLast) {
  Traffic traffic;
  for (int i = 0; i < 99; ++i) traffic.Observe("verify", 200, 0.010, kNow);
  traffic.Observe("verify", 200, 5, kNow);
  EXPECT_LT(traffic.Read(kNow)["total"]["p99_ms"].get<double>(), 12);
}

// Requests for watching are not counted.
TEST(TrafficTest, WatchersAreLeftOut) {
  Traffic traffic;
  Route route;
  route.operation = "metrics";
  Answered answered;
  answered.route = &route;
  answered.status = 200;
  traffic.Observe(answered, kNow);
  answered.route = nullptr;
  traffic.Observe(answered, kNow);
  EXPECT_EQ(traffic.Read(kNow)["total"]["requests"], 0);
}

}  // namespace
}  // namespace heft::service
