// SPDX-License-Identifier: Apache-2.0
#include "owner/best_places.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace heft {
namespace {

TEST(BestPlacesTest, AreThoseOfSortingAll) {
  std::mt19937_64 random(5);
  for (const size_t most : {1, 2, 10, 3000}) {
    BestPlaces best(most);
    std::vector<BestPlaces::Place> all;
    for (uint64_t i = 0; i < 10000; ++i) {
      all.push_back({std::round(100 * std::sin(static_cast<double>(random()))) / 100, i % 3, i});
      best.Add(all.back());
    }
    std::ranges::stable_sort(all, std::greater(), &BestPlaces::Place::score);
    const auto kept = std::move(best).Take();
    ASSERT_EQ(kept.size(), most);
    for (size_t i = 0; i < most; ++i) {
      EXPECT_EQ(kept[i].position, all[i].position) << i;
      EXPECT_EQ(kept[i].bucket, all[i].bucket) << i;
      EXPECT_EQ(kept[i].score, all[i].score) << i;
    }
  }
}

TEST(BestPlacesTest, WhatIsNoNumberIsKept) {
  BestPlaces best(2);
  for (uint64_t i = 0; i < 5000; ++i) {
    best.Add({i == 17 ? std::numeric_limits<double>::quiet_NaN() : 1.0, std::nullopt, i});
  }
  const auto kept = std::move(best).Take();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].position, 17u);
  EXPECT_EQ(kept[1].position, 0u);
}

TEST(BestPlacesTest, MayBeFewerOrNone) {
  BestPlaces best(10);
  best.Add({0.5, 2, 7});
  const auto one = std::move(best).Take();
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].position, 7u);
  EXPECT_TRUE(BestPlaces(0).Take().empty());
}

}  // namespace
}  // namespace heft
