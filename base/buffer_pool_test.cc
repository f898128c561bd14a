// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <gtest/gtest.h>

#include "base/aligned.h"

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

TEST(AlignedTest, StartsOnACacheLine) {
  for (int i = 1; i < 100; ++i) {
    AlignedVector<uint32_t> v(i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(v.data()) % kCacheLine, 0u);
  }
}

}  // namespace
}  // namespace heft
