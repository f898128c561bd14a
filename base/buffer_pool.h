// SPDX-License-Identifier: Apache-2.0
// Large buffers come and go with every operation on ciphertexts. The pool keeps freed ones for reuse
// by the same thread, so that the hot path neither maps memory nor takes page faults.
#ifndef HEFT_BASE_BUFFER_POOL_H_
#define HEFT_BASE_BUFFER_POOL_H_

#include <cstddef>

namespace heft::internal {

// 64-byte aligned, uninitialised. Never nullptr (aborts without memory, as operator new would throw).
void* PoolAllocate(std::size_t bytes);
// `bytes` as at allocation.
void PoolFree(void* p, std::size_t bytes) noexcept;

}  // namespace heft::internal

#endif  // HEFT_BASE_BUFFER_POOL_H_
