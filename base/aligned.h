// SPDX-License-Identifier: Apache-2.0
// AlignedVector<T>: a std::vector whose storage starts on a cache line, as the SIMD kernels
// require. resize() leaves its elements uninitialised.
#ifndef HEFT_BASE_ALIGNED_H_
#define HEFT_BASE_ALIGNED_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"

namespace heft {

// kCacheLine: bytes of a cache line, and of the widest SIMD register.
inline constexpr size_t kCacheLine = 64;

// AlignedAllocator: takes memory from the pool of base/buffer_pool.h. It default-initialises, which
// leaves numbers uninitialised.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: allocators convert implicitly.
  T* allocate(size_t n) { return static_cast<T*>(internal::PoolAllocate(n * sizeof(T))); }
  void deallocate(T* p, size_t n) noexcept { internal::PoolFree(p, n * sizeof(T)); }
  template <typename U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;  // Default-initialised: no memset of memory written next.
  }
  template <typename U, typename... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  template <typename U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

// AlignedVector: a std::vector that starts on a cache line.
template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace heft

#endif  // HEFT_BASE_ALIGNED_H_
