// SPDX-License-Identifier: Apache-2.0
// How long work tells where it is, and learns that it should stop.
#ifndef HEFT_PROGRESS_H_
#define HEFT_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <string_view>

namespace heft {

// ProgressEvent: a step of a job. total == 0: a question whether to go on, nothing to show.
struct ProgressEvent {
  std::string_view what;  // "training fold 2 of 5"
  size_t done = 0;
  size_t total = 0;
  std::string_view note = {};
};

// Monitor is called with every step, from the thread that called the job, and returns false to stop
// it: the job then ends with kCancelled and has changed nothing. An empty one lets everything run.
using Monitor = std::function<bool(const ProgressEvent&)>;

}  // namespace heft

#endif  // HEFT_PROGRESS_H_
