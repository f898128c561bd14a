// SPDX-License-Identifier: Apache-2.0
// The server's log of requests takes each row once until the row expires. store/once_test.cc has
// processes, crashes and damage.
#include "gallery/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST_F(RequestLogTest, ARowIsKeptWhileClocksMayDiffer) {
  EXPECT_EQ(Take({Row(1, 0, kEnd)}), -1);
  EXPECT_EQ(Take({Row(1, 0, kEnd)}, kEnd + kClockSkew), 0);
  EXPECT_EQ(Take({Row(1, 0, 2 * kEnd)}, kEnd + kClockSkew + 1), -1);
}

TEST_F(RequestLogTest, AnotherFoldersLogIsReplacedByACopy) {
  const testing::TemporaryFolder other;
  ASSERT_TRUE(log_.CopyTo(other.path()).ok()) << "there is none yet";
  EXPECT_FALSE(FileExists(other / "once.sqlite"));
  EXPECT_EQ(Take({Row(1)}), -1);
  const RequestLog copy(other.path());
  EXPECT_FALSE(copy.Take(std::vector{Row(2)}, kNow)->has_value());
  ASSERT_TRUE(log_.CopyTo(other.path()).ok());
  EXPECT_TRUE(copy.Take(std::vector{Row(1)}, kNow)->has_value());
  EXPECT_FALSE(copy.Take(std::vector{Row(2)}, kNow)->has_value());
}

// Full is refused, not forgotten, and the message says what to do.
TEST_F(RequestLogTest, NoMoreThanItsMost) {
  const std::vector<TakenRow> many(RequestLog::kMaxRows + 1, Row(1));
  const auto full = log_.Take(many, kNow);
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.status().message(), HasSubstr("--valid-for"));
  EXPECT_EQ(Take({Row(1)}), -1);
}

TEST_F(RequestLogTest, OfOneSignerAndNonce) {
  const RequestId id = RequestIdOf({1}, {2});
  EXPECT_EQ(RequestIdOf({1}, {2}), id);
  EXPECT_NE(RequestIdOf({2}, {2}), id) << "nobody uses up another's nonce";
  EXPECT_NE(RequestIdOf({1}, {3}), id);
}

}  // namespace
}  // namespace heft
