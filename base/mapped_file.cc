// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files_internal.h"

namespace heft {

using internal::SystemError;

namespace {

absl::Status CheckOwn(const struct stat& info, const std::string& path) {
  std::string why;
  if (!S_ISREG(info.st_mode)) {
    why = "it is not a regular file";
  } else if (info.st_uid != geteuid() && info.st_uid != 0) {
    why = absl::StrCat("it belongs to another user (", info.st_uid, ")");
  } else if ((info.st_mode & 022) != 0) {
    why = absl::StrCat("others may write to it (chmod go-w ", path, ")");
  } else {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", why, ", so it is not trusted"));
}

uint64_t Nanoseconds(const struct timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  // Opening must not wait for another process, as it would for a pipe.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == ELOOP) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": it is a symbolic link, so it is not trusted"));
  }
  if (fd < 0) return SystemError("cannot open", path, errno == ENOTDIR ? ENOENT : errno);
  struct Closed {
    ~Closed() { close(fd); }
    int fd;
  } const closed{fd};
  struct stat info;
  if (fstat(fd, &info) != 0) return SystemError("cannot stat", path, errno);
  HEFT_RETURN_IF_ERROR(CheckOwn(info, path));
  MappedFile file;
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return file;
  void* const at = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return SystemError("cannot map", path, errno);
  file.owner_ = std::shared_ptr<const void>(at, [size](void* p) { munmap(p, size); });
  file.bytes_ = {static_cast<const uint8_t*>(at), size};
  return file;
}

absl::StatusOr<FileStamp> FileStampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return SystemError("cannot stat", path, errno);
  return FileStamp{info.st_ino, static_cast<uint64_t>(info.st_size), Nanoseconds(info.st_mtim),
                   Nanoseconds(info.st_ctim)};
}

absl::StatusOr<FileStamp> SettledFileStamp(const std::string& path) {
  using std::chrono::nanoseconds;
  // The kernel's file clock ticks at least every 10 ms; some file systems store whole seconds.
  constexpr uint64_t kTick = 50'000'000, kCoarse = 2'000'000'000, kSecond = 1'000'000'000;
  HEFT_ASSIGN_OR_RETURN(FileStamp stamp, FileStampOf(path));
  while (true) {
    const uint64_t grain = stamp.changed % kSecond == 0 ? kCoarse : kTick;
    const auto now = static_cast<uint64_t>(
        nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
    const uint64_t age = now > stamp.changed ? now - stamp.changed : 0;
    if (age > grain) return stamp;
    std::this_thread::sleep_for(nanoseconds(grain - age));
    HEFT_ASSIGN_OR_RETURN(const FileStamp again, FileStampOf(path));
    if (again == stamp) return stamp;  // also where the clock of the files is ahead
    stamp = again;
  }
}

}  // namespace heft
