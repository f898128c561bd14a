// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

absl::Status SystemError(std::string_view action, const std::string& path, int error) {
  const std::string message =
      absl::StrCat(std::string(action), " ", path, ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

// Closes on every path out of a function.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Opens a file for reading; `info` is of what was opened.
absl::StatusOr<FileDescriptor> OpenToRead(const std::string& path, uint64_t max_size,
                                          struct stat* info) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // A file where a folder should be: for a reader the same as no file.
  if (fd.get() < 0 && errno == ENOTDIR) errno = ENOENT;
  if (fd.get() < 0) return SystemError("cannot open", path, errno);
  if (fstat(fd.get(), info) != 0) return SystemError("cannot stat", path, errno);
  if (S_ISDIR(info->st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory, not a file"));
  }
  if (static_cast<uint64_t>(info->st_size) > max_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", info->st_size, " bytes, more than the ", max_size, " allowed"));
  }
  return fd;
}

// Reads until `out` is full or the file ends; returns the bytes read.
absl::StatusOr<size_t> ReadInto(const FileDescriptor& fd, const std::string& path, void* out,
                                size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd.get(), static_cast<char*>(out) + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("cannot read", path, errno);
    if (n == 0) break;
    done += n;
  }
  return done;
}

template <typename Container>
absl::StatusOr<Container> ReadWhole(const std::string& path, uint64_t max_size) {
  struct stat info;
  HEFT_ASSIGN_OR_RETURN(const FileDescriptor fd, OpenToRead(path, max_size, &info));
  Container content;
  if (S_ISREG(info.st_mode)) {
    content.resize(info.st_size);
    HEFT_ASSIGN_OR_RETURN(const size_t size, ReadInto(fd, path, content.data(), content.size()));
    content.resize(size);
    return content;
  }
  // Pipes and /dev/stdin report no size: read until the end, bounded.
  while (true) {
    const size_t done = content.size();
    if (done > max_size) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": more than the ", max_size, " bytes allowed"));
    }
    constexpr size_t kStep = 65536;
    content.resize(done + kStep);
    HEFT_ASSIGN_OR_RETURN(const size_t size, ReadInto(fd, path, content.data() + done, kStep));
    content.resize(done + size);
    if (size < kStep) return content;
  }
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path, uint64_t max_size) {
  return ReadWhole<std::vector<uint8_t>>(path, max_size);
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t max_size) {
  return ReadWhole<std::string>(path, max_size);
}

absl::StatusOr<SecretFile> ReadSecretFile(const std::string& path, uint64_t max_size) {
  struct stat info;
  HEFT_ASSIGN_OR_RETURN(const FileDescriptor fd, OpenToRead(path, max_size, &info));
  SecretFile file;
  if ((info.st_mode & 077) != 0) {
    file.permissions = absl::FailedPreconditionError(
        absl::StrCat(path, ": others may read this secret: chmod 600 ", path));
  }
  const size_t room = S_ISREG(info.st_mode) ? info.st_size : max_size;  // a pipe reports no size
  HEFT_ASSIGN_OR_RETURN(auto buffer, SecureVector<uint8_t>::Create(room));
  HEFT_ASSIGN_OR_RETURN(const size_t size, ReadInto(fd, path, buffer.data(), room));
  HEFT_ASSIGN_OR_RETURN(file.bytes, SecureVector<uint8_t>::Create(size));
  std::copy_n(buffer.data(), size, file.bytes.data());
  return file;
}

absl::Status SyncDirectory(const std::string& path) {
  FileDescriptor fd(open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("cannot open directory", path, errno);
  // Some file systems cannot flush a directory; there a rename is as durable as it gets.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return SystemError("cannot flush", path, errno);
  return absl::OkStatus();
}

absl::Status WriteFileAtomic(const std::string& path, ByteSpan bytes, mode_t mode) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int raw = mkostemp(temporary.data(), O_CLOEXEC);  // Created with mode 0600.
  if (raw < 0) return SystemError("cannot write", path, errno);
  auto fail = [&](std::string_view action) {
    const int error = errno;
    unlink(temporary.c_str());
    return SystemError(action, path, error);
  };
  {
    FileDescriptor fd(raw);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(fd.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail("cannot write");
      done += n;
    }
    if (fchmod(fd.get(), mode) != 0) return fail("cannot set permissions of");
    if (fsync(fd.get()) != 0) return fail("cannot flush");
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot rename to");
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

absl::Status WriteFileAtomic(const std::string& path, std::string_view text, mode_t mode) {
  return WriteFileAtomic(path, AsBytes(text), mode);
}

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return SystemError("cannot create directory", path, error.value());
  return absl::OkStatus();
}

}  // namespace heft
