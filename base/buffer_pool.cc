// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <bit>
#include <cstdint>
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

// Chunk: 64 MB of memory in huge pages, which start at a multiple of 64 MB. Its buffers are handed
// out from its start, so it takes memory as it is used.
class Chunk {
 public:
  static constexpr size_t kSize = size_t{64} << 20;
  static uintptr_t StartOf(const void* p) { return reinterpret_cast<uintptr_t>(p) & ~(kSize - 1); }

  // WebAssembly has one memory, without pages and parts that can be given back.
  bool Map() {
#if defined(MADV_HUGEPAGE) && !defined(__EMSCRIPTEN__)
    // Twice the size contains a chunk at a multiple of its size. The rest is given back. A process
    // that locks its memory would get all of it at once, if it could be written.
    void* p =
        mmap(nullptr, 2 * kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    char* const mapped = static_cast<char*>(p);
    start_ = mapped + (StartOf(mapped + kSize - 1) - reinterpret_cast<uintptr_t>(mapped));
    if (start_ != mapped) munmap(mapped, static_cast<size_t>(start_ - mapped));
    char* const end = start_ + kSize;
    if (end != mapped + 2 * kSize) munmap(end, static_cast<size_t>(mapped + 2 * kSize - end));
    madvise(start_, kSize, MADV_HUGEPAGE);  // failing costs speed only
    if (mprotect(start_, kSize, PROT_READ | PROT_WRITE) == 0) return true;
    Unmap();
    return false;
#else
    return false;
#endif
  }
  void Unmap() {
    munmap(start_, kSize);
    *this = Chunk();
  }
  bool mapped() const { return start_ != nullptr; }
  bool Holds(const void* p) const {
    return mapped() && StartOf(p) == reinterpret_cast<uintptr_t>(start_);
  }
  bool unused() const { return handed_out_ == 0; }

  // nullptr: no room.
  void* Allocate(size_t rounded) {
    FreeBuffer*& first = first_[ClassOf(rounded)];
    void* p = first;
    if (first != nullptr) {
      first = first->next;
    } else if (mapped() && used_ + rounded <= kSize) {
      p = start_ + used_;
      used_ += rounded;
    }
    if (p != nullptr) ++handed_out_;
    return p;
  }
  void Free(void* p, size_t rounded) {
    FreeBuffer*& first = first_[ClassOf(rounded)];
    first = ::new (p) FreeBuffer{first};
    if (--handed_out_ > 0) return;
    // Nothing is in use: other sizes may be handed out from the start.
    used_ = 0;
    for (FreeBuffer*& list : first_) list = nullptr;
  }

 private:
  char* start_ = nullptr;
  size_t used_ = 0, handed_out_ = 0;
  FreeBuffer* first_[kClasses] = {};
};

// SmallBuffers: chunks for pooled buffers smaller than a huge page. In 4 kB pages a process that
// runs one operation spends a fifth of its time on the page faults of these buffers. The hundreds
// of megabytes of a bulk batch take twice the time to read. The first chunk is kept; the others go
// back to the system when nothing is in use in them.
class SmallBuffers {
 public:
  // nullptr: there is no room, and the buffer must come from the allocator.
  void* Allocate(size_t rounded) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Chunk* unmapped = nullptr;
    for (Chunk& chunk : chunks_) {
      if (void* p = chunk.Allocate(rounded)) return p;
      if (!chunk.mapped() && unmapped == nullptr) unmapped = &chunk;
    }
    if (unmapped == nullptr || !unmapped->Map()) return nullptr;
    return unmapped->Allocate(rounded);
  }

  // False if `p` is not of a chunk.
  bool Free(void* p, size_t rounded) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Chunk& chunk : chunks_) {
      if (!chunk.Holds(p)) continue;
      chunk.Free(p, rounded);
      if (chunk.unused() && &chunk != &chunks_[0]) chunk.Unmap();
      return true;
    }
    return false;
  }

  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

 private:
  static constexpr size_t kMaxChunks = 64;  // 4 GB
  std::mutex mutex_;
  Chunk chunks_[kMaxChunks];
};

// Never destroyed: threads that end later give buffers back.
SmallBuffers& Small() {
  static SmallBuffers* buffers = [] {
    auto* made = new SmallBuffers;
    // A child must not inherit the lock from a thread that it does not have.
    pthread_atfork([] { Small().Lock(); }, [] { Small().Unlock(); }, [] { Small().Unlock(); });
    return made;
  }();
  return *buffers;
}

// With AddressSanitizer each buffer comes from the allocator, which is watched.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

bool IsSmall(size_t rounded) { return kKeeps && rounded >= kSmallest && rounded < kHugePage; }

void* SystemAllocate(size_t rounded) {
  if (IsSmall(rounded)) {
    if (void* p = Small().Allocate(rounded)) return p;
  }
  rounded = RoundToHugePages(rounded);
  void* p = ::operator new(rounded, Alignment(rounded));
#ifdef MADV_HUGEPAGE
  if (rounded >= kHugePage) madvise(p, rounded, MADV_HUGEPAGE);  // failing costs speed only
#endif
  return p;
}

void SystemFree(void* p, size_t rounded) noexcept {
  if (IsSmall(rounded) && Small().Free(p, rounded)) return;
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

bool Pooled(size_t rounded) {
  return kKeeps && rounded >= kSmallest && rounded <= kLargest && !t_pool_gone;
}

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
