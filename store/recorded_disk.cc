// SPDX-License-Identifier: Apache-2.0
#include "store/recorded_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>

namespace heft {

Disk g_disk;

int Disk::Find(int fd) const {
  struct stat info;
  if (files.empty() || fstat(fd, &info) != 0) return -1;
  const auto it = std::ranges::find(files, std::pair(info.st_dev, info.st_ino));
  return it == files.end() ? -1 : static_cast<int>(it - files.begin());
}

Disk DiskOf(const std::string& folder) {
  Disk disk;
  for (const char* const name : kStoreFiles) {
    struct stat info;
    if (stat((folder + "/" + name).c_str(), &info) != 0) abort();
    disk.files.emplace_back(info.st_dev, info.st_ino);
  }
  return disk;
}

ssize_t Pwrite(int fd, const void* bytes, size_t size, off_t at) {
  return syscall(SYS_pwrite64, fd, bytes, size, at);
}

namespace {

ssize_t RecordedWrite(int fd, size_t file, const std::vector<uint8_t>& bytes, off_t at) {
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
    g_disk.log->push_back(
        {Event::kWrite, file, static_cast<uint64_t>(at), 0, {bytes.begin(), bytes.begin() + n}});
  }
  g_disk.Made();
  return n;
}

// Recorded: another call, with its effect on the file.
int Recorded(const Event& event, const std::function<int()>& call) {
  if (g_disk.Fails()) {
    if (event.kind == Event::kSync && g_disk.log != nullptr) {
      g_disk.log->push_back({Event::kLost, event.file});
    }
    errno = g_disk.error == 0 ? EIO : g_disk.error;
    return -1;
  }
  const int rc = call();
  if (rc == 0 && g_disk.log != nullptr) g_disk.log->push_back(event);
  g_disk.Made();
  return rc;
}

int RecordedSync(int fd, long number) {
  const auto call = [&] { return static_cast<int>(syscall(number, fd)); };
  const int file = g_disk.Find(fd);
  return file < 0 ? call() : Recorded({Event::kSync, static_cast<size_t>(file)}, call);
}

}  // namespace
}  // namespace heft

extern "C" {
#define HEFT_VISIBLE __attribute__((visibility("default")))

HEFT_VISIBLE ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  const int file = heft::g_disk.Find(fd);
  if (file < 0) return heft::Pwrite(fd, bytes, size, at);
  const auto* const begin = static_cast<const uint8_t*>(bytes);
  return heft::RecordedWrite(fd, file, {begin, begin + size}, at);
}
HEFT_VISIBLE ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t at) {
  return pwrite(fd, bytes, size, at);
}
HEFT_VISIBLE ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t at) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < count; ++i) {
    const auto* const begin = static_cast<const uint8_t*>(parts[i].iov_base);
    bytes.insert(bytes.end(), begin, begin + parts[i].iov_len);
  }
  return pwrite(fd, bytes.data(), bytes.size(), at);
}
HEFT_VISIBLE ssize_t pwritev64(int fd, const struct iovec* parts, int count, off_t at) {
  return pwritev(fd, parts, count, at);
}
HEFT_VISIBLE ssize_t write(int fd, const void* bytes, size_t size) {
  if (heft::g_disk.Find(fd) >= 0) abort();  // not used, and would not be recorded
  return syscall(SYS_write, fd, bytes, size);
}
HEFT_VISIBLE int fdatasync(int fd) { return heft::RecordedSync(fd, SYS_fdatasync); }
HEFT_VISIBLE int fsync(int fd) { return heft::RecordedSync(fd, SYS_fsync); }
HEFT_VISIBLE int ftruncate(int fd, off_t size) noexcept {
  const auto call = [&] { return static_cast<int>(syscall(SYS_ftruncate, fd, size)); };
  const int file = heft::g_disk.Find(fd);
  if (file < 0) return call();
  return heft::Recorded({heft::Event::kCut, static_cast<size_t>(file), static_cast<uint64_t>(size)},
                        call);
}
HEFT_VISIBLE int fallocate(int fd, int mode, off_t at, off_t size) {
  const auto call = [&] { return static_cast<int>(syscall(SYS_fallocate, fd, mode, at, size)); };
  const int file = heft::g_disk.Find(fd);
  if (file < 0) return call();
  return heft::Recorded({heft::Event::kHole, static_cast<size_t>(file), static_cast<uint64_t>(at),
                         static_cast<uint64_t>(size)},
                        call);
}
}
