// SPDX-License-Identifier: Apache-2.0
#include "service/access/replay.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/testing.h"
#include "service/access/limits.h"

namespace heft::service {
namespace {

using Code = absl::StatusCode;

constexpr uint64_t kNow = 1000000000;
const char kOne[] = "AAAAAAAAAAAAAAAAAAAAAA";

std::string Time(int64_t from_now) { return std::to_string(static_cast<int64_t>(kNow) + from_now); }

TEST(ReplayTest, OnceAlone) {
  const auto guard = *ReplayGuard::Open("");
  EXPECT_EQ(guard->Admit("ann", kOne, Time(0), kNow).code(), Code::kOk);
  EXPECT_EQ(guard->Admit("ann", kOne, Time(0), kNow).code(), Code::kAlreadyExists);
  EXPECT_EQ(guard->Admit("ann", kOne, Time(7), kNow + 5).code(), Code::kAlreadyExists);
  EXPECT_EQ(guard->Admit("bob", kOne, Time(0), kNow).code(), Code::kOk);
  // The boundary between name and nonce counts.
  EXPECT_EQ(guard->Admit("annA", kOne, Time(0), kNow).code(), Code::kOk);
}

TEST(ReplayTest, TimesAndForms) {
  const auto guard = *ReplayGuard::Open("");
  for (const int64_t off : {-301, 301, -1000000, 1000000}) {
    EXPECT_EQ(guard->Admit("ann", NewNonce(), Time(off), kNow).code(), Code::kDeadlineExceeded);
  }
  for (const int64_t off : {-300, 300}) {
    EXPECT_EQ(guard->Admit("ann", NewNonce(), Time(off), kNow).code(), Code::kOk);
  }
  EXPECT_EQ(guard->Admit("ann", NewNonce(), "18446744073709551615", kNow).code(),
            Code::kDeadlineExceeded);
  for (const char* nonce : {"", "AAAA", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAAA==",
                            "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA+"}) {
    EXPECT_EQ(guard->Admit("ann", nonce, Time(0), kNow).code(), Code::kInvalidArgument) << nonce;
  }
  for (const char* time : {"", "x", "-5", "1e9", "18446744073709551616", "1000000000x"}) {
    EXPECT_EQ(guard->Admit("ann", NewNonce(), time, kNow).code(), Code::kInvalidArgument) << time;
  }
}

TEST(ReplayTest, ForgetsWhatNobodyCouldSendAgain) {
  const auto guard = *ReplayGuard::Open("", 3);
  EXPECT_TRUE(guard->Admit("ann", NewNonce(), Time(300), kNow).ok());
  EXPECT_TRUE(guard->Admit("ann", NewNonce(), Time(0), kNow).ok());
  EXPECT_TRUE(guard->Admit("ann", NewNonce(), Time(-300), kNow).ok());
  EXPECT_EQ(guard->Admit("ann", NewNonce(), Time(0), kNow).code(), Code::kResourceExhausted);
  EXPECT_TRUE(guard->Admit("ann", NewNonce(), Time(1), kNow + 1).ok());
  EXPECT_EQ(guard->remembered(), 3u);
  // The nonce with a future time is remembered until its time leaves the window.
  EXPECT_TRUE(guard->Admit("ann", NewNonce(), Time(600), kNow + 600).ok());
  EXPECT_EQ(guard->remembered(), 2u);
}

TEST(ReplayTest, ARestartForgetsNothing) {
  const heft::testing::TemporaryFolder folder;
  const std::string path = folder / "nonces";
  std::vector<std::string> nonces;
  {
    const auto guard = *ReplayGuard::Open(path);
    for (int i = 0; i < 100; ++i) {
      nonces.push_back(NewNonce());
      ASSERT_TRUE(guard->Admit("ann", nonces.back(), Time(i - 50), kNow).ok());
    }
    const auto second = *ReplayGuard::Open(path);
    EXPECT_EQ(second->Admit("ann", nonces[0], Time(0), kNow).code(), Code::kAlreadyExists)
        << "another daemon with the same file";
  }
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto guard = *ReplayGuard::Open(path);
  EXPECT_EQ(guard->remembered(), 100u);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(guard->Admit("ann", nonces[i], Time(0), kNow).code(), Code::kAlreadyExists) << i;
  }
}

TEST(ReplayTest, AFileThatIsDamagedIsRefused) {
  const heft::testing::TemporaryFolder folder;
  const std::string path = folder / "nonces";
  ASSERT_TRUE(WriteFileAtomic(path, std::string(5000, 'x'), 0600).ok());
  EXPECT_EQ(ReplayGuard::Open(path).status().code(), Code::kDataLoss);
}

TEST(ReplayTest, TheFileStaysSmall) {
  const heft::testing::TemporaryFolder folder;
  const std::string path = folder / "nonces";
  const auto guard = *ReplayGuard::Open(path);
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t now = kNow + i;  // one a second: 601 can be sent again
    ASSERT_TRUE(guard->Admit("ann", NewNonce(), std::to_string(now), now).ok());
  }
  EXPECT_LE(guard->remembered(), 301u);
  EXPECT_LT(std::filesystem::file_size(path), 200'000u);
}

TEST(ReplayTest, OfManyThreadsOneIsTaken) {
  const heft::testing::TemporaryFolder folder;
  const auto guard = *ReplayGuard::Open(folder / "nonces");
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        std::string nonce = kOne;
        nonce[0] = static_cast<char>('A' + i % 26);
        nonce[1] = static_cast<char>('A' + i / 26);
        taken += guard->Admit("ann", nonce, Time(0), kNow).ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 100);
}

TEST(LimitsTest, BucketsFillUpAgain) {
  RateLimits limits({2, 3});
  const RateLimits::Clock::time_point start{};
  const auto at = [&](double seconds) {
    return start + std::chrono::duration_cast<RateLimits::Clock::duration>(
                       std::chrono::duration<double>(seconds));
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limits.Take("ann", at(0)), 0);
  EXPECT_EQ(limits.Take("ann", at(0)), 1);
  EXPECT_EQ(limits.Take("bob", at(0)), 0);
  EXPECT_EQ(limits.Take("ann", at(0.51)), 0);
  EXPECT_EQ(limits.Take("ann", at(0.52)), 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limits.Take("ann", at(1000)), 0);
  EXPECT_EQ(limits.Take("ann", at(1000)), 1);
  RateLimits slow({0.1, 1});
  EXPECT_EQ(slow.Take("x", at(0)), 0);
  EXPECT_EQ(slow.Take("x", at(0)), 10);
  RateLimits none({0, 1});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(none.Take("x", at(0)), 0);
}

TEST(LimitsTest, NamesAreBounded) {
  RateLimits limits({1e-9, 1}, 10);
  const RateLimits::Clock::time_point start{};
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limits.Take(std::to_string(i), start), 0);
  EXPECT_GT(limits.Take("999", start), 0);
  EXPECT_GT(limits.Take("990", start), 0);
  EXPECT_EQ(limits.Take("989", start), 0);  // forgotten
}

}  // namespace
}  // namespace heft::service
