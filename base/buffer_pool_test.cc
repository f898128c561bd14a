// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/aligned.h"
#include "heft/base.h"

namespace heft {
namespace {

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

// Buffers smaller than a huge page that no thread keeps are handed out again, whatever thread frees
// them.
TEST(BufferPoolTest, ReleasedBuffersAreUsedByOtherThreads) {
  constexpr size_t kSize = size_t{320} << 10;
  std::vector<void*> before(300);  // more than the region for small buffers holds
  std::thread([&] {
    for (void*& p : before) {
      p = internal::PoolAllocate(kSize);
      std::memset(p, 1, kSize);
    }
  }).join();
  std::set<void*> distinct(before.begin(), before.end());
  EXPECT_EQ(distinct.size(), before.size());
  for (void* p : before) internal::PoolFree(p, kSize);
  ReleaseThreadMemory();
  void* again = nullptr;
  std::thread([&] { again = internal::PoolAllocate(kSize); }).join();
  EXPECT_TRUE(distinct.contains(again));
  internal::PoolFree(again, kSize);
}

TEST(AlignedTest, StartsOnACacheLine) {
  for (int i = 1; i < 100; ++i) {
    AlignedVector<uint32_t> v(i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(v.data()) % kCacheLine, 0u);
  }
}

}  // namespace
}  // namespace heft
