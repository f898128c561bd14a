// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <mutex>
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

// FreeBuffer: the start of a free buffer.
struct FreeBuffer {
  FreeBuffer* next;
};

// RoundToHugePages: a rest of more than half a huge page gets a whole one; hundreds of page faults
// take longer than clearing it.
size_t RoundToHugePages(size_t rounded) {
  const size_t rest = rounded % kHugePage;
  return rounded > kHugePage && rest > kHugePage / 2 ? rounded - rest + kHugePage : rounded;
}

// Region: a range of memory in huge pages, for pooled buffers smaller than one. In 4 kB pages a
// process that runs one operation spends a fifth of its time on the page faults of these buffers.
// The range is reserved at once and used from its start, so it takes memory as it is used. Its
// buffers are never given back to the system.
class Region {
 public:
  // nullptr: there is no room, and the buffer must come from the allocator.
  void* Allocate(size_t rounded) {
    const std::lock_guard<std::mutex> lock(mutex_);
    FreeBuffer*& first = first_[ClassOf(rounded)];
    if (first != nullptr) {
      void* p = first;
      first = first->next;
      return p;
    }
    if (!reserved_) Reserve();
    if (start_ == nullptr || used_ + rounded > kSize) return nullptr;
    char* p = start_ + used_;
    used_ += rounded;
    return p;
  }

  // False if `p` is not of this range.
  bool Free(void* p, size_t rounded) {
    const char* start = start_;
    if (start == nullptr || p < start || p >= start + kSize) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    FreeBuffer*& first = first_[ClassOf(rounded)];
    first = ::new (p) FreeBuffer{first};
    return true;
  }

  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

 private:
  static constexpr size_t kSize = size_t{64} << 20;

  void Reserve() {
    reserved_ = true;
#ifdef MADV_HUGEPAGE
    void* p = mmap(nullptr, kSize + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    const size_t rest = reinterpret_cast<uintptr_t>(p) % kHugePage;
    char* start = static_cast<char*>(p) + (kHugePage - rest) % kHugePage;
    if (madvise(start, kSize, MADV_HUGEPAGE) == 0) start_ = start;
#endif
  }

  std::mutex mutex_;
  std::atomic<char*> start_ = nullptr;
  bool reserved_ = false;
  size_t used_ = 0;
  FreeBuffer* first_[kClasses] = {};
};

// Never destroyed: threads that end later give buffers back.
Region& SmallBuffers() {
  static Region* region = [] {
    auto* made = new Region;
    // A child must not inherit the lock from a thread that it does not have.
    pthread_atfork([] { SmallBuffers().Lock(); }, [] { SmallBuffers().Unlock(); },
                   [] { SmallBuffers().Unlock(); });
    return made;
  }();
  return *region;
}

bool IsSmall(size_t rounded) { return rounded >= kSmallest && rounded < kHugePage; }

void* SystemAllocate(size_t rounded) {
  if (IsSmall(rounded)) {
    if (void* p = SmallBuffers().Allocate(rounded)) return p;
  }
  rounded = RoundToHugePages(rounded);
  void* p = ::operator new(rounded, Alignment(rounded));
#ifdef MADV_HUGEPAGE
  if (rounded >= kHugePage) madvise(p, rounded, MADV_HUGEPAGE);  // failing costs speed only
#endif
  return p;
}

void SystemFree(void* p, size_t rounded) noexcept {
  if (IsSmall(rounded) && SmallBuffers().Free(p, rounded)) return;
  ::operator delete(p, Alignment(rounded));
}

// t_pool_gone: a buffer may be freed after its thread's pool is destroyed, because the order of
// thread-local destructors is undefined. Then it is freed at once.
thread_local bool t_pool_gone = false;

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
