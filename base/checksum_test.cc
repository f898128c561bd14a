// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <vector>

namespace heft {
namespace {

// Of nothing: xxHash's own sanity test (tests/sanity_test_vectors.h, XXH3, length 0, seed 0).
TEST(ChecksumTest, KnownAnswer) { EXPECT_EQ(FastChecksum({}), 0x2D06800538D394C2u); }

TEST(ChecksumTest, EveryFlippedBitShows) {
  std::vector<uint8_t> bytes(513, 7);
  const uint64_t before = FastChecksum(bytes);
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] ^ 1 << i % 8);
    EXPECT_NE(FastChecksum(bytes), before) << i;
    bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] ^ 1 << i % 8);
  }
}

}  // namespace
}  // namespace heft
