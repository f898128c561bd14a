// SPDX-License-Identifier: Apache-2.0
#include "base/envelope.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heft {
namespace {

TEST(EnvelopeTest, EveryFlippedByteAndTruncationIsRefused) {
  const std::vector<uint8_t> payload = {1, 2, 3, 4, 5};
  std::vector<uint8_t> sealed = SealEnvelope("TEST", 3, payload);
  auto opened = OpenEnvelope(sealed, "TEST", 3, "file");
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(std::equal(opened->begin(), opened->end(), payload.begin(), payload.end()));
  for (size_t i = 0; i < sealed.size(); ++i) {
    sealed[i] ^= 0x20;
    EXPECT_FALSE(OpenEnvelope(sealed, "TEST", 3, "file").ok()) << i;
    sealed[i] ^= 0x20;
    EXPECT_FALSE(OpenEnvelope(ByteSpan(sealed).first(i), "TEST", 3, "file").ok()) << i;
  }
  EXPECT_FALSE(OpenEnvelope(sealed, "KEYS", 3, "file").ok());
  EXPECT_FALSE(OpenEnvelope(sealed, "TEST", 2, "file").ok());
}

// After other bytes, without a copy: the same file and the same hash.
TEST(EnvelopeTest, IsWrittenInPlace) {
  for (const size_t size : {size_t{0}, size_t{5}, size_t{72}, size_t{1000}}) {
    const std::vector<uint8_t> payload(size, 9);
    ByteWriter writer;
    writer.Raw(AsBytes("before"));
    const size_t start = BeginEnvelope("TEST", 3, &writer);
    writer.Raw(payload);
    const Hash hash = EndEnvelope(start, &writer);
    const auto file = ByteSpan(writer.bytes()).subspan(start);
    EXPECT_TRUE(std::ranges::equal(file, SealEnvelope("TEST", 3, payload))) << size;
    EXPECT_EQ(hash, HashBytes(file)) << size;
    EXPECT_EQ(start, 6u);
  }
}

}  // namespace
}  // namespace heft
