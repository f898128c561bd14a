// SPDX-License-Identifier: Apache-2.0
// The server's log of requests: it takes each row once, over all processes, until the row expires,
// also after a crash.
#include "gallery/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/testing.h"
#include "heft/server.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNow = 2'000'000'000, kEnd = kNow + 3600;

TakenRow Row(uint8_t id, uint64_t row = 0, uint64_t expires = kEnd) { return {{id}, row, expires}; }

class RequestLogTest : public ::testing::Test {
 protected:
  // Which of the rows is there already; -1: none, and now they are.
  int Take(const std::vector<TakenRow>& rows, uint64_t now = kNow) const {
    const auto known = log_.Take(rows, now);
    EXPECT_TRUE(known.ok()) << known.status();
    if (!known.ok()) return -2;
    return *known ? static_cast<int>(**known) : -1;
  }
  std::string File() const { return folder_ / "requests.heft"; }
  std::vector<uint8_t> Bytes() const { return *ReadFile(File()); }
  size_t Rows() const { return ParseRequestLog(Bytes(), "log")->rows.size(); }

  const testing::TemporaryFolder folder_;
  const RequestLog log_{folder_.path()};
};

TEST_F(RequestLogTest, EachRowIsTakenOnce) {
  EXPECT_EQ(Take({Row(1, 4)}), -1);
  EXPECT_EQ(Take({Row(1, 4)}), 0);
  EXPECT_EQ(Take({Row(1, 5)}), -1) << "another row of the same file";
  EXPECT_EQ(Take({Row(2, 4), Row(1, 4)}), 1) << "one of two files";
  EXPECT_EQ(Take({Row(2, 4)}), -1) << "a request that is refused leaves nothing";
  EXPECT_EQ(Take({Row(1, kAllRows)}), 0) << "all of them, of which some were taken";
  EXPECT_EQ(Take({Row(3, kAllRows)}), -1);
  EXPECT_EQ(Take({Row(3, 7)}), 0);
}

TEST_F(RequestLogTest, AnotherObjectKnows) {
  EXPECT_EQ(Take({Row(1)}), -1);
  const auto known = RequestLog(folder_.path()).Take(std::vector{Row(1)}, kNow);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(*known, std::optional<size_t>(0));
}

// Eight processes with the same request: one of them may answer it.
TEST_F(RequestLogTest, OneOfManyProcesses) {
  constexpr int kProcesses = 8, kRounds = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int taken = 0;
      for (uint64_t round = 0; round < kRounds; ++round) {
        const auto known = log_.Take(std::vector{Row(1, round), Row(2, round)}, kNow);
        if (!known.ok()) _exit(255);
        taken += *known ? 0 : 1;
      }
      _exit(taken);
    }
    children.push_back(child);
  }
  int taken = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), 255);
    taken += WEXITSTATUS(status);
  }
  EXPECT_EQ(taken, kRounds);
  EXPECT_EQ(Rows(), 2 * static_cast<size_t>(kRounds));
}

TEST_F(RequestLogTest, WhatHasExpiredIsForgottenAndTheFileStaysSmall) {
  EXPECT_EQ(Take({Row(1, 0, kEnd)}), -1);
  EXPECT_EQ(Take({Row(1, 0, kEnd)}, kEnd + kClockSkew), 0) << "clocks differ by so much";
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(Take({Row(2, i, kNow + i)}, kNow + i), -1);
  }
  EXPECT_LT(Rows(), 1000u);
  EXPECT_EQ(Take({Row(1, 0, kEnd)}), 0) << "what is good still is kept";
  // Of a writer that was killed.
  ASSERT_TRUE(WriteFileAtomic(File() + ".a1B2c3", std::vector<uint8_t>{1}).ok());
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(Take({Row(3, i, kNow + i)}, kNow + i), -1);
  EXPECT_FALSE(FileExists(File() + ".a1B2c3"));
}

// The power goes while a record is written: it was not answered, and the file goes on.
TEST_F(RequestLogTest, TornRecordsAreLeftOut) {
  EXPECT_EQ(Take({Row(1)}), -1);
  const size_t whole = Bytes().size();
  EXPECT_EQ(Take({Row(2)}), -1);
  const std::vector<uint8_t> both = Bytes();
  for (size_t size = whole + 1; size < both.size(); ++size) {
    ASSERT_TRUE(WriteFileAtomic(File(), ByteSpan(both).first(size)).ok());
    EXPECT_EQ(Take({Row(1)}), 0) << size;
    EXPECT_EQ(Take({Row(2)}), -1) << size;
    EXPECT_EQ(Bytes(), both) << size;
  }
  // A file that grew before its bytes were there.
  std::vector<uint8_t> zeros(both.begin(), both.begin() + static_cast<long>(whole));
  zeros.resize(both.size());
  ASSERT_TRUE(WriteFileAtomic(File(), zeros).ok());
  EXPECT_EQ(Take({Row(1)}), 0);
  EXPECT_EQ(Take({Row(2)}), -1);
  EXPECT_EQ(Bytes(), both);
}

TEST_F(RequestLogTest, DamageIsRefused) {
  std::vector<TakenRow> rows;
  for (uint64_t i = 0; i < 2 * RequestLog::kMaxFiles; ++i) rows.push_back(Row(1, i));
  const std::vector<uint8_t> good = SerializeRequestLog(rows);
  EXPECT_EQ(ParseRequestLog(good, "log")->rows, rows);
  for (const size_t at : {size_t{3}, size_t{9}, size_t{13}, size_t{17}, size_t{90}}) {
    std::vector<uint8_t> bad = good;
    bad[at] ^= 1;
    ASSERT_TRUE(WriteFileAtomic(File(), bad).ok());
    const auto known = log_.Take(std::vector{Row(9)}, kNow);
    EXPECT_EQ(known.status().code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_EQ(Bytes(), bad) << "it stays for whoever looks into it";
  }
  ASSERT_TRUE(WriteFileAtomic(File(), std::vector<uint8_t>{}).ok());
  EXPECT_EQ(log_.Take(std::vector{Row(9)}, kNow).status().code(), absl::StatusCode::kDataLoss);
}

// Full is refused, not forgotten; and ends by itself.
TEST_F(RequestLogTest, NoMoreThanItsMost) {
  std::vector<TakenRow> rows;
  for (uint64_t i = 0; i < RequestLog::kMaxRows; ++i) rows.push_back(Row(1, i, kNow + 1));
  ASSERT_TRUE(WriteFileAtomic(File(), SerializeRequestLog(rows)).ok());
  const auto full = log_.Take(std::vector{Row(2)}, kNow);
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.status().message(), HasSubstr("--valid-for"));
  EXPECT_EQ(Take({Row(2)}, kNow + 2 + kClockSkew), -1);
  EXPECT_EQ(Rows(), 1u);
  EXPECT_EQ(
      log_.Take(std::vector<TakenRow>(RequestLog::kMaxFiles + 1, Row(3)), kNow).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(RequestLogTest, OfOneSignerAndNonce) {
  const RequestId id = RequestIdOf({1}, {2});
  EXPECT_EQ(RequestIdOf({1}, {2}), id);
  EXPECT_NE(RequestIdOf({2}, {2}), id) << "nobody uses up another's nonce";
  EXPECT_NE(RequestIdOf({1}, {3}), id);
}

}  // namespace
}  // namespace heft
