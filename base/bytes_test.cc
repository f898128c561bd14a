// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/hash.h"

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

// FIPS 180-4's examples, from sha256sum.
TEST(HashTest, Sha256KnownAnswers) {
  EXPECT_EQ(HexString(HashBytes({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexString(HashBytes(AsBytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(HashTest, PiecesHaveTheHashOfTheWhole) {
  const std::vector<uint8_t> bytes(1000, 7);
  for (const size_t cut : {0, 1, 63, 64, 65, 999, 1000}) {
    Hasher first;
    first.Update(ByteSpan(bytes).first(cut));
    Hasher second = first;
    second.Update(ByteSpan(bytes).subspan(cut));
    EXPECT_EQ(second.Finish(), HashBytes(bytes)) << cut;
    EXPECT_EQ(first.Finish(), HashBytes(ByteSpan(bytes).first(cut))) << cut;
  }
}

}  // namespace
}  // namespace heft
