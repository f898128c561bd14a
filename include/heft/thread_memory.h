// SPDX-License-Identifier: Apache-2.0
// Memory that a thread keeps for its next operation. Link heft::server.
#ifndef HEFT_THREAD_MEMORY_H_
#define HEFT_THREAD_MEMORY_H_

#include "heft/export.h"

namespace heft {

// ReleaseThreadMemory gives back what the calling thread keeps of buffers that are not in use, up
// to 96 MB: for threads that wait now, of which a service has many.
HEFT_EXPORT void ReleaseThreadMemory();

}  // namespace heft

#endif  // HEFT_THREAD_MEMORY_H_
