// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <bit>
#include <new>
#include <vector>

#include "base/aligned.h"

namespace heft::internal {
namespace {

// Smaller buffers are the allocator's business; larger ones (gallery blocks, key sets) live long.
constexpr std::size_t kSmallest = std::size_t{1} << 14;
constexpr std::size_t kLargest = std::size_t{1} << 23;
constexpr std::size_t kMaxHeld = std::size_t{96} << 20;  // per thread
constexpr int kClasses = 40;                             // four a power of two

// Sizes are rounded up to a quarter of a power of two, so at most a fifth is wasted.
std::size_t RoundUp(std::size_t bytes) {
  const std::size_t quarter = std::bit_floor(bytes) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

int ClassOf(std::size_t rounded) {
  const int log = std::bit_width(rounded) - 1;
  const std::size_t quarter = (std::size_t{1} << log) / 4;
  return (log - 14) * 4 + static_cast<int>((rounded - (std::size_t{1} << log)) / quarter);
}

struct ThreadPool {
  std::vector<void*> free[kClasses];
  std::size_t held = 0;
  ~ThreadPool();
};

// A buffer may be freed after its thread's pool is gone (thread-local destructors run in no
// particular order): then it goes straight back.
thread_local bool t_pool_gone = false;

ThreadPool& Pool() {
  thread_local ThreadPool pool;
  return pool;
}

ThreadPool::~ThreadPool() {
  t_pool_gone = true;
  for (auto& list : free) {
    for (void* p : list) ::operator delete(p, std::align_val_t(kCacheLine));
  }
}

bool Pooled(std::size_t bytes) { return bytes >= kSmallest && bytes <= kLargest && !t_pool_gone; }

}  // namespace

void* PoolAllocate(std::size_t bytes) {
  if (!Pooled(bytes)) return ::operator new(bytes, std::align_val_t(kCacheLine));
  const std::size_t rounded = RoundUp(bytes);
  ThreadPool& pool = Pool();
  std::vector<void*>& list = pool.free[ClassOf(rounded)];
  if (list.empty()) return ::operator new(rounded, std::align_val_t(kCacheLine));
  void* p = list.back();
  list.pop_back();
  pool.held -= rounded;
  return p;
}

void PoolFree(void* p, std::size_t bytes) noexcept {
  if (Pooled(bytes)) {
    const std::size_t rounded = RoundUp(bytes);
    ThreadPool& pool = Pool();
    if (pool.held + rounded <= kMaxHeld) {
      pool.free[ClassOf(rounded)].push_back(p);
      pool.held += rounded;
      return;
    }
  }
  ::operator delete(p, std::align_val_t(kCacheLine));
}

}  // namespace heft::internal
