// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heft/gallery.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNow = 1800000000;  // 2027-01-15T08:00:00Z

TEST(ExpiryTest, DatesTimesAndSpans) {
  EXPECT_EQ(*ParseExpiry("", kNow), 0u);
  EXPECT_EQ(*ParseExpiry("2027-01-16", kNow), 1800057600u);
  EXPECT_EQ(*ParseExpiry("2027-01-15T08:00:01Z", kNow), kNow + 1);
  EXPECT_EQ(*ParseExpiry("2028-02-29", kNow), 1835395200u);
  EXPECT_EQ(*ParseExpiry("30s", kNow), kNow + 30);
  EXPECT_EQ(*ParseExpiry("5m", kNow), kNow + 300);
  EXPECT_EQ(*ParseExpiry("12h", kNow), kNow + 12 * 3600);
  EXPECT_EQ(*ParseExpiry("90d", kNow), kNow + 90 * 86400);
  EXPECT_EQ(*ParseExpiry("2y", kNow), kNow + 730 * 86400);
}

TEST(ExpiryTest, WhatIsNone) {
  for (const char* text :
       {"90", "d", "-1d", "+1d", "1.5d", "1 d", "90D", "2027-1-31", "2027-02-29", "2027-13-01",
        "2027-01-31T24:00:00Z", "2027-01-31T12:00:00", "2027-01-31 12:00:00Z", "31.01.2027",
        "99999999999999999999s", "999999y"}) {
    const auto expires = ParseExpiry(text, kNow);
    EXPECT_EQ(expires.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(expires.status().message()), HasSubstr("not a time of expiry")) << text;
  }
  for (const char* text :
       {"2027-01-15", "2027-01-15T08:00:00Z", "1969-12-31", "0s", "0000-01-01"}) {
    EXPECT_THAT(std::string(ParseExpiry(text, kNow).status().message()), HasSubstr("has passed"))
        << text;
  }
}

}  // namespace
}  // namespace heft
