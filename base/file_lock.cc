// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace heft {

absl::StatusOr<FileLock> FileLock::Take(const std::string& path, mode_t mode,
                                        std::string_view busy) {
  FileLock lock(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, mode));
  if (lock.fd_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  const int operation = LOCK_EX | (busy.empty() ? 0 : LOCK_NB);
  while (flock(lock.fd_, operation) != 0) {
    if (errno == EINTR) {
      HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
      continue;
    }
    if (errno == EWOULDBLOCK) return absl::UnavailableError(std::string(busy));
    return absl::UnavailableError(absl::StrCat("cannot lock ", path, ": ", std::strerror(errno)));
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace heft
