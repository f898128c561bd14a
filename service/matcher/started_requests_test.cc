// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/started_requests.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"

namespace heft::service {
namespace {

Hash Of(const std::string& text) { return HashBytes(AsBytes(text)); }

TEST(StartedRequestsTest, WhatBeganIsKnownUntilItsEnd) {
  const heft::testing::TemporaryFolder state;
  const StartedRequests started(state.path(), "galleries");
  EXPECT_FALSE(started.Has(Of("first")));
  ASSERT_TRUE(started.Begin(Of("first")).ok());
  ASSERT_TRUE(started.Begin(Of("first")).ok());
  EXPECT_TRUE(started.Has(Of("first")));
  EXPECT_FALSE(StartedRequests(state.path(), "removals").Has(Of("first")));
  EXPECT_TRUE(StartedRequests(state.path(), "galleries").Has(Of("first")));
  started.End(Of("first"));
  EXPECT_FALSE(started.Has(Of("first")));
}

TEST(StartedRequestsTest, AFullTableStopsNoRequest) {
  const StartedRequests started("/dev/null/missing", "galleries");
  EXPECT_FALSE(started.Has(Of("first")));
  EXPECT_FALSE(started.Begin(Of("first")).ok()) << "a folder that cannot be written does";
  const heft::testing::TemporaryFolder state;
  OnceTable table(state / kOnceFile);
  const OnceTable::Scope scope = {.name = "galleries", .most_entries = 2 * StartedRequests::kMax};
  std::vector<OnceTable::Entry> many;
  for (uint64_t i = 0; i < StartedRequests::kMax; ++i) {
    many.push_back({.key = absl::StrCat(10000 + i), .expires = ~uint64_t{0}});
  }
  ASSERT_FALSE(table.Take(scope, many, 1)->has_value());
  const StartedRequests full(state.path(), "galleries");
  EXPECT_TRUE(full.Begin(Of("first")).ok());
  EXPECT_FALSE(full.Has(Of("first")));
}

}  // namespace
}  // namespace heft::service
