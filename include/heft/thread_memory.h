// SPDX-License-Identifier: Apache-2.0
// The memory that a thread keeps for its next operation. Link heft::server.
#ifndef HEFT_THREAD_MEMORY_H_
#define HEFT_THREAD_MEMORY_H_

#include "heft/export.h"

namespace heft {

// ReleaseThreadMemory: frees the calling thread's buffers that are not in use, up to 96 MB. For
// services with many threads, when a thread starts to wait.
HEFT_EXPORT void ReleaseThreadMemory();

}  // namespace heft

#endif  // HEFT_THREAD_MEMORY_H_
