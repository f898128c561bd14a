// SPDX-License-Identifier: Apache-2.0
#ifndef HEFT_BASE_FILE_SIZE_SIGNAL_H_
#define HEFT_BASE_FILE_SIZE_SIGNAL_H_

namespace heft {

// NoFileSizeSignal: while it lives, a write beyond the limit of a file's size (ulimit -f) is an
// error of this thread, and no signal that ends the process. One within another costs nothing.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  bool blocked_ = false;
};

}  // namespace heft

#endif  // HEFT_BASE_FILE_SIZE_SIGNAL_H_
