// SPDX-License-Identifier: Apache-2.0
#ifndef HEFT_BASE_FILE_SIZE_SIGNAL_H_
#define HEFT_BASE_FILE_SIZE_SIGNAL_H_

namespace heft {

// NoFileSizeSignal: while it exists, a write beyond the file size limit (ulimit -f) fails with an
// error in this thread instead of a signal that ends the process. Nesting costs nothing.
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
