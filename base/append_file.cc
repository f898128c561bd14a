// SPDX-License-Identifier: Apache-2.0
#include "base/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

absl::Status Failed(std::string_view action, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", std::string(action), " ", path, ": ", std::strerror(errno)));
}

absl::Status WriteAll(int fd, const std::string& path, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;  // half an entry is worse than a late answer
    if (n <= 0) return Failed("write", path);
    bytes = bytes.subspan(n);
  }
  return fsync(fd) == 0 ? absl::OkStatus() : Failed("flush", path);
}

// Closed: closes a descriptor at the end of the block.
struct Closed {
  int fd;
  ~Closed() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

absl::Status AppendToFile(const std::string& path, uint64_t size, ByteSpan bytes) {
  const Closed file{open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)};
  if (file.fd < 0) return Failed("open", path);
  struct stat info;
  if (fstat(file.fd, &info) != 0) return Failed("stat", path);
  if (static_cast<uint64_t>(info.st_size) > size && ftruncate(file.fd, size) != 0) {
    return Failed("cut", path);
  }
  const absl::Status written = WriteAll(file.fd, path, bytes);
  // Data that cannot be flushed must not stay half written. If truncating fails too, the next
  // reader recognises a torn entry.
  if (!written.ok() && ftruncate(file.fd, size) != 0) return Failed("restore", path);
  return written;
}

}  // namespace heft
