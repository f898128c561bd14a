// SPDX-License-Identifier: Apache-2.0
// Threads: ParallelFor over a process-wide pool. Results must not depend on the number of threads:
// a task writes only to its own index.
#ifndef HEFT_BASE_THREADS_H_
#define HEFT_BASE_THREADS_H_

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "heft/runtime.h"

namespace heft {

// ParallelFor calls fn(i) once for every i in [0, count), in any order, on up to ThreadCount()
// threads, and returns when all are done. Runs inline where count or ThreadCount() is 1, and when
// called from within a task. Fewer threads work where the system makes no more. `fn` throws nothing
// of its own; where it runs out of memory, what is left of the job is dropped, and std::bad_alloc
// reaches the caller once every thread has left `fn`.
void ParallelFor(size_t count, const std::function<void(size_t)>& fn);
// TryParallelFor: the same of tasks that can fail. All run; the error of the first of them in
// order.
absl::Status TryParallelFor(size_t count, const std::function<absl::Status(size_t)>& fn);

}  // namespace heft

#endif  // HEFT_BASE_THREADS_H_
