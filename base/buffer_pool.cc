// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <new>

#include "base/aligned.h"
#include "heft/base.h"

namespace heft::internal {
namespace {

// Sizes that are pooled. Smaller buffers come from the allocator; larger ones (key sets, many
// blocks) live long.
constexpr int kLogSmallest = 14;
constexpr size_t kSmallest = size_t{1} << kLogSmallest;
constexpr size_t kLargest = size_t{5} << 23;   // a prepared probe of 512 dimensions
constexpr size_t kMaxHeld = size_t{96} << 20;  // per thread
constexpr int kClasses = 48;                   // four for each power of two

// RoundUp: sizes are rounded up to a quarter of a power of two, so at most a fifth is wasted.
size_t RoundUp(size_t bytes) {
  if (bytes < kSmallest) return bytes;
  const size_t quarter = std::bit_floor(bytes) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

// ClassOf and SizeOf: the pool's list for a rounded size, and the size of a list's buffers.
int ClassOf(size_t rounded) {
  const int log = std::bit_width(rounded) - 1;
  const size_t quarter = (size_t{1} << log) / 4;
  return (log - kLogSmallest) * 4 + static_cast<int>(rounded / quarter - 4);
}

size_t SizeOf(int size_class) {
  const size_t quarter = (kSmallest << (size_class / 4)) / 4;
  return quarter * (4 + size_class % 4);
}

// kHugePage: buffers of at least this size are read from end to end; huge pages reduce the cost of
// address translation.
constexpr size_t kHugePage = size_t{1} << 21;

std::align_val_t Alignment(size_t rounded) {
  return std::align_val_t(rounded >= kHugePage ? kHugePage : kCacheLine);
}

// RoundToHugePages: a rest of more than half a huge page gets a whole one; hundreds of page faults
// take longer than clearing it.
size_t RoundToHugePages(size_t rounded) {
  const size_t rest = rounded % kHugePage;
  return rounded > kHugePage && rest > kHugePage / 2 ? rounded - rest + kHugePage : rounded;
}

void* SystemAllocate(size_t rounded) {
  rounded = RoundToHugePages(rounded);
  void* p = ::operator new(rounded, Alignment(rounded));
#ifdef MADV_HUGEPAGE
  if (rounded >= kHugePage) madvise(p, rounded, MADV_HUGEPAGE);  // failing costs speed only
#endif
  return p;
}

void SystemFree(void* p, size_t rounded) noexcept { ::operator delete(p, Alignment(rounded)); }

// t_pool_gone: a buffer may be freed after its thread's pool is destroyed, because the order of
// thread-local destructors is undefined. Then it is freed at once.
thread_local bool t_pool_gone = false;

// FreeBuffer: the start of a free buffer.
struct FreeBuffer {
  FreeBuffer* next;
};

// ThreadPool: free buffers by class. The lists are stored in the buffers themselves, so that
// freeing needs no memory and cannot fail.
struct ThreadPool {
  FreeBuffer* first[kClasses] = {};
  size_t held = 0;
  ~ThreadPool() {
    t_pool_gone = true;
    Release();
  }
  void Release() {
    for (int c = 0; c < kClasses; ++c) {
      while (FreeBuffer* p = first[c]) {
        first[c] = p->next;
        SystemFree(p, SizeOf(c));
      }
    }
    held = 0;
  }
};

ThreadPool& Pool() {
  thread_local ThreadPool pool;
  return pool;
}

bool Pooled(size_t rounded) { return rounded >= kSmallest && rounded <= kLargest && !t_pool_gone; }

}  // namespace

void* PoolAllocate(size_t bytes) {
  const size_t rounded = RoundUp(bytes);
  if (!Pooled(rounded)) return SystemAllocate(rounded);
  ThreadPool& pool = Pool();
  FreeBuffer*& first = pool.first[ClassOf(rounded)];
  if (first == nullptr) return SystemAllocate(rounded);
  FreeBuffer* p = first;
  first = p->next;
  pool.held -= rounded;
  return p;
}

void PoolFree(void* p, size_t bytes) noexcept {
  const size_t rounded = RoundUp(bytes);
  if (Pooled(rounded)) {
    ThreadPool& pool = Pool();
    if (pool.held + rounded <= kMaxHeld) {
      FreeBuffer*& first = pool.first[ClassOf(rounded)];
      first = ::new (p) FreeBuffer{first};
      pool.held += rounded;
      return;
    }
  }
  SystemFree(p, rounded);
}

}  // namespace heft::internal

namespace heft {

void ReleaseThreadMemory() {
  if (!internal::t_pool_gone) internal::Pool().Release();
}

}  // namespace heft
