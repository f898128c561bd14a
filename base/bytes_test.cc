// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heft {
namespace {

using ::testing::HasSubstr;

TEST(BytesTest, FieldsComeBack) {
  ByteWriter w;
  w.U8(7);
  w.U32(0x01020304);
  w.U64(uint64_t{1} << 60);
  w.F64(-0.5);
  w.String("face");
  EXPECT_EQ(w.bytes()[1], 4);  // little-endian
  ByteReader r(w.bytes(), "object");
  EXPECT_EQ(r.U8(), 7);
  EXPECT_EQ(r.U32(), 0x01020304u);
  EXPECT_EQ(r.U64(), uint64_t{1} << 60);
  EXPECT_EQ(r.F64(), -0.5);
  EXPECT_EQ(r.String(), "face");
  EXPECT_TRUE(r.Finish().ok());
}

TEST(BytesTest, EveryTruncationIsReported) {
  ByteWriter w;
  w.U32(1);
  w.String("voice");
  w.U64(2);
  for (size_t size = 0; size < w.bytes().size(); ++size) {
    ByteReader r(ByteSpan(w.bytes()).first(size), "object");
    r.U32();
    r.String();
    r.U64();
    EXPECT_EQ(r.Finish().code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(BytesTest, HugeCountIsRefusedBeforeAllocation) {
  ByteWriter w;
  w.U64(~uint64_t{0});
  ByteReader r(w.bytes(), "object");
  EXPECT_EQ(r.Count(8, ~uint64_t{0}), 0u);
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("truncated"));
}

// UBSan once found memcpy from a null pointer here.
TEST(BytesTest, EmptyArraysOfAnEmptyInput) {
  ByteReader r({}, "object");
  r.U32Array({});
  r.F64Array({});
  EXPECT_TRUE(r.Raw(0).empty());
  EXPECT_TRUE(r.Finish().ok());
}

TEST(HashTest, Blake2bKnownAnswer) {
  // BLAKE2b-256 of the empty string, from the reference implementation's b2sum -l 256.
  EXPECT_EQ(HexString(HashBytes({})),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

}  // namespace
}  // namespace heft
