// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "base/aligned.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/threads.h"

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

TEST(HashTest, Blake2bKnownAnswer) {
  // BLAKE2b-256 of the empty string, from the reference implementation's b2sum -l 256.
  EXPECT_EQ(HexString(HashBytes({})),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

TEST(FilesTest, AtomicWriteKeepsModeAndReplaces) {
  const std::string dir = testing::TempDir() + "/heft_files";
  std::filesystem::remove_all(dir);
  ASSERT_TRUE(MakeDirectories(dir).ok());
  const std::string path = dir + "/secret";
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("one"), 0600).ok());
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("two"), 0600).ok());
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_EQ(*ReadTextFile(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1);
  EXPECT_EQ(ReadFile(dir + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadFile(path, 2).ok());
  EXPECT_FALSE(WriteFileAtomic(dir + "/no/such/dir", std::string_view("x")).ok());
}

TEST(CsprngTest, ChaCha20KnownAnswer) {
  // Key and nonce zero, block 0: RFC 7539, appendix A.1, test vector 1 (the nonce layouts agree).
  Csprng rng(Seed{});
  std::array<uint8_t, 8> first;
  rng.Fill(first);
  EXPECT_EQ(HexString(first), "76b8e0ada0f13d90");
}

TEST(CsprngTest, StreamsDiffer) {
  Seed seed{};
  Csprng a(seed, 0), b(seed, 1), c, d;
  EXPECT_NE(a.U64(), b.U64());
  EXPECT_NE(c.U64(), d.U64());
}

TEST(ThreadsTest, EveryIndexOnceWhateverTheCount) {
  for (int threads : {1, 2, 7}) {
    SetThreadCount(threads);
    for (size_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> hits(count);
      ParallelFor(count, [&](size_t i) {
        ParallelFor(2, [&](size_t) { hits[i].fetch_add(1); });  // nested runs inline
      });
      for (auto& h : hits) EXPECT_EQ(h.load(), 2);
    }
  }
  SetThreadCount(0);
}

TEST(BufferPoolTest, FreedBuffersAreHandedOutAgain) {
  constexpr size_t kSize = 70000;  // 80 kB after rounding, as is 75000
  void* first = internal::PoolAllocate(kSize);
  void* second = internal::PoolAllocate(kSize);
  EXPECT_NE(first, second);
  internal::PoolFree(first, kSize);
  internal::PoolFree(second, kSize);
  EXPECT_EQ(internal::PoolAllocate(75000), second);
  EXPECT_EQ(internal::PoolAllocate(kSize), first);
  internal::PoolFree(first, kSize);
  internal::PoolFree(second, 75000);
}

TEST(AlignedTest, StartsOnACacheLine) {
  for (int i = 1; i < 100; ++i) {
    AlignedVector<uint32_t> v(i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(v.data()) % kCacheLine, 0u);
  }
}

}  // namespace
}  // namespace heft
