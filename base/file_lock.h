// SPDX-License-Identifier: Apache-2.0
// FileLock: held by one process, or one object within it, at a time; released when destroyed, and
// by the system when the process ends.
#ifndef HEFT_BASE_FILE_LOCK_H_
#define HEFT_BASE_FILE_LOCK_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace heft {

class FileLock {
 public:
  // Take locks the file `path`, which is made with permission bits `mode` if it is not there.
  // kUnavailable with the message `busy` if somebody else holds it; with an empty `busy` it waits
  // for them.
  static absl::StatusOr<FileLock> Take(const std::string& path, mode_t mode,
                                       std::string_view busy = {});
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace heft

#endif  // HEFT_BASE_FILE_LOCK_H_
