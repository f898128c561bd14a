// SPDX-License-Identifier: Apache-2.0
// SecureVector<T>: memory for secrets (libsodium's guarded allocation). It is locked against
// swapping, excluded from core dumps, and wiped when freed. It can be moved, but not copied. If the
// system refuses to lock, SecureMemoryStatus says so.
#ifndef HEFT_BASE_SECURE_H_
#define HEFT_BASE_SECURE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.h"

namespace heft {

namespace internal {
void* SecureAllocate(size_t bytes);  // zeroed; nullptr where the system refuses
void SecureFree(void* p);
}  // namespace internal

// SecureWipe: wipes memory; the compiler cannot remove the call.
void SecureWipe(void* p, size_t bytes);

// SecureVector: `size` values, initially zero.
template <typename T>
class SecureVector {
 public:
  SecureVector() = default;
  // Create: kUnavailable if the system has no memory.
  static absl::StatusOr<SecureVector> Create(size_t size) {
    SecureVector v;
    v.data_ = static_cast<T*>(internal::SecureAllocate(size * sizeof(T)));
    if (v.data_ == nullptr) {
      return absl::UnavailableError("the system has no memory for a secret");
    }
    v.size_ = size;
    return v;
  }
  SecureVector(SecureVector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SecureVector& operator=(SecureVector&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SecureVector() {
    if (data_ != nullptr) internal::SecureFree(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace heft

#endif  // HEFT_BASE_SECURE_H_
