// SPDX-License-Identifier: Apache-2.0
// The buffer pool. Large buffers come and go with every operation on ciphertexts; freed ones are
// kept for reuse by the thread that freed them, so that the hot path neither maps memory nor takes
// page faults.
#ifndef HEFT_BASE_BUFFER_POOL_H_
#define HEFT_BASE_BUFFER_POOL_H_

#include <cstddef>

namespace heft::internal {

// PoolAllocate: `bytes` bytes, 64-byte aligned, uninitialised. Never nullptr: without memory it
// throws std::bad_alloc, as operator new does.
void* PoolAllocate(size_t bytes);
// PoolFree gives back what PoolAllocate returned for the same number of bytes, on any thread.
void PoolFree(void* p, size_t bytes) noexcept;

}  // namespace heft::internal

#endif  // HEFT_BASE_BUFFER_POOL_H_
