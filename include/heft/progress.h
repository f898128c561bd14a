// SPDX-License-Identifier: Apache-2.0
// Progress and cancellation of long calls.
#ifndef HEFT_PROGRESS_H_
#define HEFT_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <string_view>

namespace heft {

// ProgressEvent: a step of a call. total == 0: only asks whether to continue.
struct ProgressEvent {
  std::string_view what;  // "training fold 2 of 5"
  size_t done = 0;
  size_t total = 0;
  std::string_view note = {};
};

// Monitor: called with every step, from the thread of the call. If it returns false, the call ends
// with kCancelled and has changed nothing. An empty monitor never cancels.
using Monitor = std::function<bool(const ProgressEvent&)>;

}  // namespace heft

#endif  // HEFT_PROGRESS_H_
