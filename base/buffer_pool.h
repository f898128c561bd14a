// SPDX-License-Identifier: Apache-2.0
// The buffer pool. Every operation on ciphertexts allocates and frees large buffers. A thread keeps
// the buffers that it frees, so that the hot path neither maps memory nor takes page faults.
#ifndef HEFT_BASE_BUFFER_POOL_H_
#define HEFT_BASE_BUFFER_POOL_H_

#include <cstddef>

namespace heft::internal {

// PoolAllocate: `bytes` bytes, 64-byte aligned, uninitialised. Never nullptr: throws std::bad_alloc
// without memory, as operator new does.
void* PoolAllocate(size_t bytes);
// PoolFree: frees memory of PoolAllocate for the same number of bytes, on any thread.
void PoolFree(void* p, size_t bytes) noexcept;

}  // namespace heft::internal

#endif  // HEFT_BASE_BUFFER_POOL_H_
