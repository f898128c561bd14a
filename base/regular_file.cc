// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/files_internal.h"

namespace heft {

using internal::SystemError;

absl::StatusOr<std::vector<uint8_t>> ReadRegularFile(const std::string& path, uint64_t max_size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const int error = errno;
  struct Closed {
    ~Closed() {
      if (fd >= 0) close(fd);
    }
    int fd;
  } const closed{fd};
  struct stat info = {};
  if (fd < 0 && error != ELOOP) {
    return SystemError("cannot open", path, error == ENOTDIR ? ENOENT : error);
  }
  if (fd >= 0 && fstat(fd, &info) != 0) return SystemError("cannot stat", path, errno);
  if (fd < 0 || !S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": is a link, a pipe or a folder, but must be a file: remove it"));
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > max_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", size, " bytes, more than the ", max_size, " allowed"));
  }
  std::vector<uint8_t> bytes(size);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("cannot read", path, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace heft
