// SPDX-License-Identifier: Apache-2.0
// base/threads.h without threads: a browser's worker is one thread, which does all work in order.
#include "absl/status/status.h"
#include "base/threads.h"

namespace heft {

void SetThreadCount(int) {}
int ThreadCount() { return 1; }
absl::Status GiveWay() { return absl::UnavailableError("a browser has no priorities"); }

void ParallelFor(size_t count, const std::function<void(size_t)>& fn) {
  for (size_t i = 0; i < count; ++i) fn(i);
}

absl::Status TryParallelFor(size_t count, const std::function<absl::Status(size_t)>& fn) {
  absl::Status first;
  for (size_t i = 0; i < count; ++i) first.Update(fn(i));  // all run, the first error is kept
  return first;
}

}  // namespace heft
