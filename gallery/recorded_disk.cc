// SPDX-License-Identifier: Apache-2.0
#include "gallery/recorded_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace heft {

Disk g_disk;

bool Disk::Is(int fd) const {
  struct stat info;
  return inode != 0 && fstat(fd, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

ssize_t Pwrite(int fd, const void* bytes, size_t size, off_t at) {
  return syscall(SYS_pwrite64, fd, bytes, size, at);
}

namespace {

ssize_t RecordedWrite(int fd, const std::vector<uint8_t>& bytes, off_t at) {
  size_t size = bytes.size();
  if (g_disk.Fails()) {
    if (g_disk.error != 0) {
      errno = g_disk.error;
      return -1;
    }
    size /= 2;
  }
  const ssize_t n = Pwrite(fd, bytes.data(), size, at);
  if (n > 0 && g_disk.log != nullptr) {
    const bool durable = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    g_disk.log->push_back({durable ? Event::kDurableWrite : Event::kWrite,
                           static_cast<uint64_t>(at),
                           {bytes.begin(), bytes.begin() + n}});
  }
  g_disk.Made();
  return n;
}

int RecordedSync(int fd, long call) {
  if (!g_disk.Is(fd)) return syscall(call, fd);
  if (g_disk.Fails()) {
    errno = g_disk.error == 0 ? EIO : g_disk.error;
    return -1;
  }
  const int rc = syscall(call, fd);
  if (rc == 0 && g_disk.log != nullptr) g_disk.log->push_back({Event::kSync});
  g_disk.Made();
  return rc;
}

}  // namespace
}  // namespace heft

extern "C" {
#define HEFT_VISIBLE __attribute__((visibility("default")))

HEFT_VISIBLE ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  if (!heft::g_disk.Is(fd)) return heft::Pwrite(fd, bytes, size, at);
  const auto* const begin = static_cast<const uint8_t*>(bytes);
  return heft::RecordedWrite(fd, {begin, begin + size}, at);
}
HEFT_VISIBLE ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t at) {
  return pwrite(fd, bytes, size, at);
}
HEFT_VISIBLE ssize_t writev(int fd, const struct iovec* parts, int count) {
  if (!heft::g_disk.Is(fd)) return syscall(SYS_writev, fd, parts, count);
  std::vector<uint8_t> bytes;
  for (int i = 0; i < count; ++i) {
    const auto* const begin = static_cast<const uint8_t*>(parts[i].iov_base);
    bytes.insert(bytes.end(), begin, begin + parts[i].iov_len);
  }
  const off_t at = lseek(fd, 0, SEEK_CUR);
  const ssize_t n = heft::RecordedWrite(fd, bytes, at);
  if (n > 0) lseek(fd, at + n, SEEK_SET);
  return n;
}
HEFT_VISIBLE ssize_t write(int fd, const void* bytes, size_t size) {
  if (heft::g_disk.Is(fd)) abort();  // not used, and would not be recorded
  return syscall(SYS_write, fd, bytes, size);
}
HEFT_VISIBLE int fdatasync(int fd) { return heft::RecordedSync(fd, SYS_fdatasync); }
HEFT_VISIBLE int fsync(int fd) { return heft::RecordedSync(fd, SYS_fsync); }
HEFT_VISIBLE int ftruncate(int fd, off_t size) noexcept {
  if (heft::g_disk.Is(fd)) abort();
  return syscall(SYS_ftruncate, fd, size);
}
HEFT_VISIBLE int msync(void* at, size_t size, int flags) {
  return syscall(SYS_msync, at, size, flags);
}
}
