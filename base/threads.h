// SPDX-License-Identifier: Apache-2.0
// Threads: ParallelFor over a process-wide pool. Results must not depend on the number of threads:
// a task writes only to its own index.
#ifndef HEFT_BASE_THREADS_H_
#define HEFT_BASE_THREADS_H_

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "heft/base.h"

namespace heft {

// ParallelFor: calls fn(i) once for every i in [0, count), in any order, on up to ThreadCount()
// threads, and returns when all are done. Runs inline if count or ThreadCount() is 1, and within a
// task. If the system creates no more threads, fewer threads work. `fn` must not throw exceptions
// of its own. If it runs out of memory, the rest of the job is dropped, and the caller gets
// std::bad_alloc after every thread has left `fn`.
void ParallelFor(size_t count, const std::function<void(size_t)>& fn);
// TryParallelFor: the same for tasks that can fail. All tasks run; returns the error of the first
// failed index.
absl::Status TryParallelFor(size_t count, const std::function<absl::Status(size_t)>& fn);

}  // namespace heft

#endif  // HEFT_BASE_THREADS_H_
