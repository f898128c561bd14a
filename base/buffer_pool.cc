// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <new>
#include <vector>

#include "base/aligned.h"

namespace heft::internal {
namespace {

// Smaller buffers are the allocator's business; larger ones (key sets, many blocks) live long.
constexpr int kLogSmallest = 14;
constexpr std::size_t kSmallest = std::size_t{1} << kLogSmallest;
constexpr std::size_t kLargest = std::size_t{1} << 23;
constexpr std::size_t kMaxHeld = std::size_t{96} << 20;  // per thread
constexpr int kClasses = 40;                             // four a power of two

// Sizes are rounded up to a quarter of a power of two, so at most a fifth is wasted.
std::size_t RoundUp(std::size_t bytes) {
  if (bytes < kSmallest) return bytes;
  const std::size_t quarter = std::bit_floor(bytes) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

int ClassOf(std::size_t rounded) {
  const int log = std::bit_width(rounded) - 1;
  const std::size_t quarter = (std::size_t{1} << log) / 4;
  return (log - kLogSmallest) * 4 + static_cast<int>(rounded / quarter - 4);
}

std::size_t SizeOf(int size_class) {
  const std::size_t quarter = (kSmallest << (size_class / 4)) / 4;
  return quarter * (4 + size_class % 4);
}

// Large buffers are walked from end to end: huge pages spare the translation of addresses.
constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::align_val_t Alignment(std::size_t rounded) {
  return std::align_val_t(rounded >= kHugePage ? kHugePage : kCacheLine);
}

void* SystemAllocate(std::size_t rounded) {
  void* p = ::operator new(rounded, Alignment(rounded));
#ifdef MADV_HUGEPAGE
  if (rounded >= kHugePage) madvise(p, rounded, MADV_HUGEPAGE);  // failing costs speed only
#endif
  return p;
}

void SystemFree(void* p, std::size_t rounded) noexcept {
  ::operator delete(p, Alignment(rounded));
}

// A buffer may be freed after its thread's pool is gone (thread-local destructors run in no
// particular order): then it goes straight back.
thread_local bool t_pool_gone = false;

struct ThreadPool {
  std::vector<void*> free[kClasses];
  std::size_t held = 0;
  ~ThreadPool() {
    t_pool_gone = true;
    for (int c = 0; c < kClasses; ++c) {
      for (void* p : free[c]) SystemFree(p, SizeOf(c));
    }
  }
};

ThreadPool& Pool() {
  thread_local ThreadPool pool;
  return pool;
}

bool Pooled(std::size_t rounded) {
  return rounded >= kSmallest && rounded <= kLargest && !t_pool_gone;
}

}  // namespace

void* PoolAllocate(std::size_t bytes) {
  const std::size_t rounded = RoundUp(bytes);
  if (!Pooled(rounded)) return SystemAllocate(rounded);
  ThreadPool& pool = Pool();
  std::vector<void*>& list = pool.free[ClassOf(rounded)];
  if (list.empty()) return SystemAllocate(rounded);
  void* p = list.back();
  list.pop_back();
  pool.held -= rounded;
  return p;
}

void PoolFree(void* p, std::size_t bytes) noexcept {
  const std::size_t rounded = RoundUp(bytes);
  if (Pooled(rounded)) {
    ThreadPool& pool = Pool();
    if (pool.held + rounded <= kMaxHeld) {
      try {
        pool.free[ClassOf(rounded)].push_back(p);
        pool.held += rounded;
        return;
      } catch (const std::bad_alloc&) {
        // No memory to remember the buffer by: it goes back, which needs none.
      }
    }
  }
  SystemFree(p, rounded);
}

}  // namespace heft::internal
