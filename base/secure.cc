// SPDX-License-Identifier: Apache-2.0
#include "base/secure.h"

#include <sodium.h>

namespace heft {
namespace internal {

// sodium_malloc returns memory that ends at a page's end, so it is aligned only if the size is a
// multiple of the alignment wanted.
void* SecureAllocate(std::size_t bytes) {
  if (sodium_init() < 0) return nullptr;
  const std::size_t rounded = (bytes + 63) / 64 * 64;
  void* p = sodium_malloc(rounded == 0 ? 64 : rounded);
  if (p != nullptr) sodium_memzero(p, rounded);
  return p;
}

void SecureFree(void* p) { sodium_free(p); }

}  // namespace internal

void SecureWipe(void* p, std::size_t bytes) { sodium_memzero(p, bytes); }

}  // namespace heft
