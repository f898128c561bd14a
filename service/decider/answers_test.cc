// SPDX-License-Identifier: Apache-2.0
#include "service/decider/answers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <thread>
#include <vector>

#include "base/testing.h"
#include "service/decider/given_parts.h"

namespace heft::service {
namespace {

constexpr Digest kReply = {7};
constexpr uint64_t kNow = 1'800'000'000;

absl::StatusOr<std::string> Same(const std::string& decided) { return decided; }

class AnswerLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<AnswerLog> Open() {
    auto log = AnswerLog::Open(folder_.path());
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  // Returns the answer; a new one is "answer 1", then "answer 2".
  std::string Ask(AnswerLog* log, const Digest& reply = kReply, const std::string& who = "matcher",
                  uint64_t now = kNow) {
    const auto answer = log->Once(
        reply, who, now,
        [&]() -> absl::StatusOr<std::string> { return "answer " + std::to_string(++asked_); },
        Same);
    return answer.ok() ? *answer : answer.status().ToString();
  }
  const heft::testing::TemporaryFolder folder_;
  std::atomic<int> asked_ = 0;
};

TEST_F(AnswerLogTest, TheSameReplyHasTheSameAnswer) {
  auto log = Open();
  EXPECT_EQ(Ask(log.get()), "answer 1");
  EXPECT_EQ(Ask(log.get()), "answer 1");
  EXPECT_EQ(Ask(log.get(), Digest{8}), "answer 2");
  EXPECT_EQ(Ask(log.get(), kReply, "somebody else"), "answer 3") << "who asks is another";
  log.reset();
  log = Open();
  EXPECT_EQ(Ask(log.get()), "answer 1") << "after a restart";
}

TEST_F(AnswerLogTest, ARefusalIsNotRemembered) {
  auto log = Open();
  const auto refused = log->Once(
      kReply, "matcher", kNow,
      []() -> absl::StatusOr<std::string> { return absl::UnavailableError("not now"); }, Same);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Ask(log.get()), "answer 1");
}

TEST_F(AnswerLogTest, AReplyCanBeAskedAgainAfterAnException) {
  auto log = Open();
  const auto fail = []() -> absl::StatusOr<std::string> { throw std::bad_alloc(); };
  EXPECT_THROW((void)log->Once(kReply, "matcher", kNow, fail, Same), std::bad_alloc);
  EXPECT_EQ(Ask(log.get()), "answer 1");
}

TEST(GivenPartsTest, APartCanBeAskedForAgainAfterAnException) {
  GivenParts given;
  const auto fail = []() -> absl::StatusOr<GivenParts::Bytes> { throw std::bad_alloc(); };
  EXPECT_THROW((void)given.Once(kReply, {}, kNow, fail), std::bad_alloc);
  const GivenParts::Bytes part = {1, 2};
  const auto again = given.Once(kReply, {}, kNow, [&] { return part; });
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, part);
}

TEST(GivenPartsTest, AtOnceNoMoreAnswersAreGivenAboutAFile) {
  GivenParts given;
  std::atomic<uint64_t> made = 0;
  std::vector<std::thread> threads;
  for (uint8_t question = 0; question < 3 * kMostGiven; ++question) {
    threads.emplace_back([&, question] {
      const auto give = [&]() -> absl::StatusOr<GivenParts::Bytes> {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++made;
        return GivenParts::Bytes{1};
      };
      given.Once(kReply, Digest{question}, kNow, give).IgnoreError();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, kMostGiven);
}

// A decision is made once, even if finishing it fails.
TEST_F(AnswerLogTest, WhatWasDecidedIsFinishedLater) {
  auto log = Open();
  int decided = 0;
  const auto ask = [&](const AnswerLog::Finishing& finish) {
    return log->Once(
        kReply, "matcher", kNow,
        [&]() -> absl::StatusOr<std::string> { return "claims " + std::to_string(++decided); },
        finish);
  };
  const auto fails = [](const std::string&) -> absl::StatusOr<std::string> {
    return absl::UnavailableError("the token does not sign");
  };
  EXPECT_EQ(ask(fails).status().code(), absl::StatusCode::kUnavailable);
  log.reset();
  log = Open();
  EXPECT_FALSE(ask(fails).ok()) << "nor after a restart";
  EXPECT_EQ(*ask([](const std::string& claims) { return claims + ", signed"; }),
            "claims 1, signed");
  EXPECT_EQ(*ask(fails), "claims 1, signed");
  log.reset();
  log = Open();
  EXPECT_EQ(*ask(fails), "claims 1, signed");
  EXPECT_EQ(decided, 1);
  EXPECT_EQ(log->size(), 1u);
}

TEST_F(AnswerLogTest, OfManyAtOnceOneAsks) {
  auto log = Open();
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto answer = log->Once(
          kReply, "matcher", kNow,
          [&]() -> absl::StatusOr<std::string> {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return "answer " + std::to_string(++asked_);
          },
          Same);
      if (answer.ok() && *answer == "answer 1") ++same;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 8);
  EXPECT_EQ(asked_, 1);
}

TEST_F(AnswerLogTest, AnswersAreForgottenAfterADay) {
  auto log = Open();
  EXPECT_EQ(Ask(log.get()), "answer 1");
  EXPECT_EQ(Ask(log.get(), kReply, "matcher", kNow + kAnswerLife), "answer 1");
  EXPECT_EQ(Ask(log.get(), kReply, "matcher", kNow + kAnswerLife + 1), "answer 2");
  EXPECT_EQ(Ask(log.get(), Digest{9}, "matcher", kNow + 3 * kAnswerLife), "answer 3");
  EXPECT_LE(log->size(), 2u) << "the file does not grow forever";
}

// A process that is killed has lost no answer that it gave.
TEST_F(AnswerLogTest, AKilledProcessLosesNoAnswer) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto log = Open();
    Ask(log.get());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  asked_ = 7;
  EXPECT_EQ(Ask(Open().get()), "answer 1");
}

TEST_F(AnswerLogTest, DamageIsRefused) {
  { Ask(Open().get()); }
  for (const char* const end : {"-wal", "-shm"}) {
    std::filesystem::remove(folder_ / ("once.sqlite" + std::string(end)));
  }
  std::filesystem::resize_file(folder_ / "once.sqlite", 5000);
  EXPECT_EQ(AnswerLog::Open(folder_.path()).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace heft::service
