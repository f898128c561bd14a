// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/started_requests.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/files.h"
#include "base/testing.h"

namespace heft::service {
namespace {

void MakeOld(const std::string& path) {
  const timeval old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimes(path.c_str(), old), 0) << path;
}

TEST(StartedRequestsTest, WhatIsOldIsForgottenAndWhatIsOthersStays) {
  const heft::testing::TemporaryFolder state;
  const StartedRequests started(state.path(), "galleries");
  const Hash first = HashBytes(AsBytes("first")), second = HashBytes(AsBytes("second"));
  EXPECT_FALSE(started.Has(first));
  ASSERT_TRUE(started.Begin(first).ok());
  EXPECT_TRUE(started.Has(first));
  EXPECT_FALSE(StartedRequests(state.path(), "removals").Has(first));
  EXPECT_FALSE(StartedRequests(state.path()).Has(first));
  // The library keeps its generations of galleries in the same folder (HEFT_STATE_DIR).
  const std::string folder = state.path() + "/started-galleries/";
  const std::vector<std::string> others = {state.path() + "/galleries/0a0b.generation",
                                           folder + "lock", folder + "0a0b.generation"};
  ASSERT_TRUE(MakeDirectories(state.path() + "/galleries").ok());
  for (const std::string& other : others) {
    ASSERT_TRUE(WriteFileAtomic(other, "1", 0600).ok());
    MakeOld(other);
  }
  MakeOld(folder + HexString(first));
  ASSERT_TRUE(started.Begin(second).ok());
  EXPECT_FALSE(started.Has(first));
  EXPECT_TRUE(started.Has(second));
  for (const std::string& other : others) EXPECT_TRUE(FileExists(other)) << other;
  started.End(second);
  EXPECT_FALSE(started.Has(second));
}

}  // namespace
}  // namespace heft::service
