// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace heft {
namespace {

std::array<uint8_t, 40> HashOf(uint8_t key, std::string_view purpose, std::string_view message) {
  std::array<uint8_t, 40> out;
  KeyedHash(out, Seed{key}, purpose, message);
  return out;
}

TEST(KeyedHashTest, DependsOnKeyPurposeAndMessageAndNothingElse) {
  EXPECT_EQ(HashOf(1, "place", "ann"), HashOf(1, "place", "ann"));
  const std::set<std::array<uint8_t, 40>> all = {HashOf(1, "place", "ann"), HashOf(2, "place", "ann"),
                                                 HashOf(1, "signs", "ann"), HashOf(1, "place", "bob"),
                                                 HashOf(1, "placea", "nn"), HashOf(1, "", "placeann")};
  EXPECT_EQ(all.size(), 6u);
  // A shorter hash is the beginning of a longer one.
  std::array<uint8_t, 8> first;
  KeyedHash(first, Seed{1}, "place", "ann");
  EXPECT_TRUE(std::equal(first.begin(), first.end(), HashOf(1, "place", "ann").begin()));
}

}  // namespace
}  // namespace heft
