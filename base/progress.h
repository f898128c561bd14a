// SPDX-License-Identifier: Apache-2.0
// Reports to a monitor (heft/base.h).
#ifndef HEFT_BASE_PROGRESS_H_
#define HEFT_BASE_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "heft/base.h"

namespace heft {

// Stopped: whether the monitor cancels the job.
inline bool Stopped(const Monitor& monitor) { return monitor && !monitor(ProgressEvent{}); }
// CheckNotStopped: the same as kCancelled.
inline absl::Status CheckNotStopped(const Monitor& monitor) {
  return Stopped(monitor) ? absl::CancelledError("interrupted") : absl::OkStatus();
}

// Progress: reports of one job to a monitor, which must outlive this object.
class Progress {
 public:
  Progress(const Monitor& monitor, std::string what) : monitor_(monitor), what_(std::move(what)) {}

  // False if the job should stop.
  bool Update(size_t done, size_t total, std::string_view note = "") const {
    return !monitor_ || monitor_(ProgressEvent{what_, done, total, note});
  }

  // Step: Update, and kCancelled if the job should stop.
  absl::Status Step(size_t done, size_t total, std::string_view note = "") const {
    return Update(done, total, note) ? absl::OkStatus() : absl::CancelledError("interrupted");
  }

  // Callback: Update as a callback for library functions; this object must outlive it.
  std::function<bool(size_t, size_t)> Callback() const {
    return [this](size_t done, size_t total) { return Update(done, total); };
  }

 private:
  const Monitor& monitor_;
  std::string what_;
};

}  // namespace heft

#endif  // HEFT_BASE_PROGRESS_H_
