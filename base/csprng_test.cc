// SPDX-License-Identifier: Apache-2.0
#include "base/csprng.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/testing.h"

namespace heft {
namespace {

TEST(CsprngTest, ChaCha20KnownAnswer) {
  // Key and nonce zero, block 0: RFC 7539, appendix A.1, test vector 1 (the nonce layouts agree).
  TestCsprng rng(Seed{});
  std::array<uint8_t, 8> first;
  rng.Fill(first);
  EXPECT_EQ(HexString(first), "76b8e0ada0f13d90");
}

TEST(CsprngTest, StreamsDiffer) {
  TestCsprng a(Seed{}, 0), b(Seed{}, 1);
  Csprng c, d;
  EXPECT_NE(a.U64(), b.U64());
  EXPECT_NE(c.U64(), d.U64());
}

TEST(CsprngTest, TestsFixWhatTheSystemGives) {
  const auto draw = [](std::string_view name) {
    testing::FixRandomness(name);
    Csprng first, second;
    return std::pair(first.U64(), second.U64());
  };
  const auto one = draw("one");
  EXPECT_NE(one.first, one.second);
  EXPECT_EQ(draw("one"), one);
  EXPECT_NE(draw("two"), one);
}

}  // namespace
}  // namespace heft
