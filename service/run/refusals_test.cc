// SPDX-License-Identifier: Apache-2.0
#include "service/run/refusals.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/json.h"

namespace heft::service {
namespace {

using std::chrono::seconds;

// Flushed: the flushed event, or null.
Json Flushed(Refusals* refusals, bool all, Refusals::Clock::time_point now) {
  Json out;
  const absl::Status kept = refusals->Flush(
      all,
      [&](Json event) {
        out = std::move(event);
        return absl::OkStatus();
      },
      now);
  EXPECT_TRUE(kept.ok()) << kept;
  return out;
}

TEST(RefusalsTest, AFloodIsCounted) {
  Refusals refusals;
  const auto start = Refusals::Clock::now();
  int lines = 0;
  for (int i = 0; i < 10000; ++i) lines += refusals.HasLine("flood", start) ? 1 : 0;
  EXPECT_EQ(lines, 60);
  EXPECT_TRUE(refusals.HasLine("another", start)) << "who floods takes nobody else's lines";
  EXPECT_TRUE(Flushed(&refusals, false, start + seconds(59)).is_null());
  const auto full = [](Json) { return absl::UnavailableError("full"); };
  EXPECT_FALSE(refusals.Flush(false, full, start + seconds(60)).ok());
  const Json event = Flushed(&refusals, false, start + seconds(60));
  EXPECT_EQ(event["count"], 9940);
  EXPECT_EQ(event["whose"]["flood"], 9940);
  EXPECT_TRUE(Flushed(&refusals, true, start + seconds(60)).is_null()) << "said once";
  // For a whole day there are at most 12 lines a minute.
  lines = 0;
  for (int i = 0; i < 24 * 3600; ++i) {
    for (int k = 0; k < 5; ++k) lines += refusals.HasLine("flood", start + seconds(60 + i)) ? 1 : 0;
  }
  EXPECT_LE(lines, 24 * 3600 / 5 + 60);
  EXPECT_GT(lines, 24 * 3600 / 5 - 60);
}

TEST(RefusalsTest, AnEventStaysShort) {
  Refusals refusals;
  const auto now = Refusals::Clock::now();
  for (int who = 0; who < 1000; ++who) {
    for (int i = 0; i < 61; ++i) refusals.HasLine(absl::StrCat(std::string(64, 'f'), who), now);
  }
  const Json event = Flushed(&refusals, true, now);
  EXPECT_EQ(event["count"], 1000);
  EXPECT_EQ(event["whose"].size(), 33u);
  EXPECT_EQ(event["whose"]["others"], 1000 - 32);
  EXPECT_LT(event.dump().size(), 4096u);
}

}  // namespace
}  // namespace heft::service
