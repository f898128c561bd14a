// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/aligned.h"
#include "heft/base.h"

namespace heft {
namespace {

#ifndef __SANITIZE_ADDRESS__  // there each buffer comes from the allocator

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
  // The first one stays in use, so that its chunk is not begun anew.
  for (size_t i = 1; i < before.size(); ++i) internal::PoolFree(before[i], kSize);
  ReleaseThreadMemory();
  void* again = nullptr;
  std::thread([&] { again = internal::PoolAllocate(kSize); }).join();
  EXPECT_TRUE(distinct.contains(again));
  internal::PoolFree(again, kSize);
  internal::PoolFree(before[0], kSize);
}

// ResidentBytes: of this process (proc(5), statm).
size_t ResidentBytes() {
  size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(BufferPoolTest, FreedBuffersOfABatchGoBackToTheSystem) {
  constexpr size_t kSize = size_t{448} << 10, kCount = 700, kBatch = kCount * kSize;
  std::vector<void*> batch(kCount);
  for (void*& p : batch) {
    p = internal::PoolAllocate(kSize);
    std::memset(p, 1, kSize);
  }
  const size_t before = ResidentBytes();
  EXPECT_GT(before, kBatch);
  for (void* p : batch) internal::PoolFree(p, kSize);
  ReleaseThreadMemory();
  EXPECT_LT(ResidentBytes(), before - kBatch / 2);
}

#endif

// Threads fill buffers of all sizes, hand some of them to the next thread, and free them. A buffer
// that overlaps with another one loses its pattern.
TEST(BufferPoolTest, BuffersDoNotOverlap) {
  struct Held {
    uint64_t* words;
    size_t bytes;
    uint64_t pattern;
  };
  std::mutex mutex;
  std::vector<Held> handed;
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Held> own;
    const auto drop = [&](Held held) {
      for (size_t i = 0; i < held.bytes / 8; i += 511) ASSERT_EQ(held.words[i], held.pattern);
      internal::PoolFree(held.words, held.bytes);
    };
    for (int step = 0; step < 3000; ++step) {
      const size_t bytes = (size_t{1} << (13 + random() % 9)) + 8 * (random() % 1000);
      const uint64_t pattern = random();
      own.push_back({static_cast<uint64_t*>(internal::PoolAllocate(bytes)), bytes, pattern});
      for (size_t i = 0; i < bytes / 8; i += 511) own.back().words[i] = pattern;
      std::swap(own[random() % own.size()], own.back());
      const std::lock_guard<std::mutex> lock(mutex);
      if (random() % 4 == 0) {
        handed.push_back(own.back());
        own.pop_back();
      }
      if (random() % 4 == 0 && !handed.empty()) {
        own.push_back(handed.back());
        handed.pop_back();
      }
      while (own.size() > (step % 1000 < 500 ? 200 : 20)) {
        drop(own.back());
        own.pop_back();
      }
    }
    for (const Held& held : own) drop(held);
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 3; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  for (const Held& held : handed) internal::PoolFree(held.words, held.bytes);
}

TEST(AlignedTest, StartsOnACacheLine) {
  for (int i = 1; i < 100; ++i) {
    AlignedVector<uint32_t> v(i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(v.data()) % kCacheLine, 0u);
  }
}

}  // namespace
}  // namespace heft
