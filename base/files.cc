// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/files_internal.h"
#include "base/used_files.h"

namespace heft {

using internal::SystemError;

namespace {

bool (*g_interrupted)() = nullptr;

// UsedFiles: the regular files that this process has read or written since GuardInputs, by device
// and inode, so independent of their paths.
class UsedFiles {
 public:
  static UsedFiles& Get() {
    static auto& used = *new UsedFiles;
    return used;
  }
  void Guard() {
    std::lock_guard<std::mutex> lock(mutex_);
    guarded_ = true;
  }
  void Add(const struct stat& info) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (guarded_ && S_ISREG(info.st_mode)) ids_.emplace(info.st_dev, info.st_ino);
  }
  bool Has(const struct stat& info) {
    std::lock_guard<std::mutex> lock(mutex_);
    return ids_.count({info.st_dev, info.st_ino}) != 0;
  }

 private:
  std::mutex mutex_;
  bool guarded_ = false;
  std::set<std::pair<dev_t, ino_t>> ids_;
};

// FileDescriptor: closes on every path out of a function.
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

// Waits look for an interrupt now and then: no signal may reach their thread.
constexpr int kLook = 50, kPause = 2;  // milliseconds

// Pause: kCancelled for an interrupt.
absl::Status Pause() {
  poll(nullptr, 0, kPause);
  return CheckNotInterrupted();
}

// AwaitReady: until a descriptor can be read or written (`events`). Regular files always can.
absl::Status AwaitReady(const FileDescriptor& fd, short events) {
  while (true) {
    struct pollfd ready = {fd.get(), events, 0};
    const int n = poll(&ready, 1, kLook);
    if (n > 0 || (n < 0 && errno != EINTR)) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
  }
}

// Open: open(2). It waits for the reader of a pipe; AwaitReady waits for a writer.
absl::StatusOr<FileDescriptor> Open(const std::string& path, int flags) {
  while (true) {
    struct stat info = {};
    const bool pipe = stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
    const int fd = open(path.c_str(), flags | O_CLOEXEC | (pipe ? O_NONBLOCK : 0));
    if (fd >= 0) {
      if (pipe) fcntl(fd, F_SETFL, flags);
      return FileDescriptor(fd);
    }
    if (errno == ENXIO && pipe) {
      HEFT_RETURN_IF_ERROR(Pause());
      continue;
    }
    // A file instead of a folder in the path: the same as no file for a reader.
    if (errno == ENOTDIR) errno = ENOENT;
    if (errno == ELOOP && (flags & O_NOFOLLOW) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(path,
                       " is a symbolic link, and a user who can change it chooses the secret: give "
                       "the path of the file itself (readlink -f ",
                       path, ")"));
    }
    if (errno != EINTR) return SystemError("cannot open", path, errno);
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
  }
}

// OpenToRead: opens a file for reading; `info` describes the opened file.
absl::StatusOr<FileDescriptor> OpenToRead(const std::string& path, uint64_t max_size,
                                          struct stat* info, int flags = 0) {
  HEFT_ASSIGN_OR_RETURN(FileDescriptor fd, Open(path, O_RDONLY | flags));
  if (fstat(fd.get(), info) != 0) return SystemError("cannot stat", path, errno);
  if (S_ISDIR(info->st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory, not a file"));
  }
  if (static_cast<uint64_t>(info->st_size) > max_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", info->st_size, " bytes, more than the ", max_size, " allowed"));
  }
  UsedFiles::Get().Add(*info);
  return fd;
}

// Descriptor: N of /dev/stdout, /dev/fd/N and the like. Such a file must be written through the
// open descriptor, because other writers share its position.
int Descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    int fd = -1;
    if (path.rfind(prefix, 0) == 0 && absl::SimpleAtoi(path.substr(prefix.size()), &fd)) return fd;
  }
  return -1;
}

// CheckSecretOwner: kFailedPrecondition if another user owns a secret, and so can change it, or if
// others may read or write it.
absl::Status CheckSecretOwner(const struct stat& info, const std::string& path) {
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": this secret belongs to another user (", info.st_uid,
                     "), who can change it: make a copy of your own (cp, then chmod 600)"));
  }
  if ((info.st_mode & 077) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": others may read this secret: chmod 600 ", path));
}

// ReadInto: reads until `out` is full or the file ends; returns the bytes read.
absl::StatusOr<size_t> ReadInto(const FileDescriptor& fd, const std::string& path, void* out,
                                size_t size) {
  size_t done = 0;
  while (done < size) {
    HEFT_RETURN_IF_ERROR(AwaitReady(fd, POLLIN));
    const ssize_t n = read(fd.get(), static_cast<char*>(out) + done, size - done);
    if (n < 0 && errno == EINTR) {
      HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
      continue;
    }
    if (n < 0) return SystemError("cannot read", path, errno);
    if (n == 0) break;
    done += n;
  }
  return done;
}

absl::Status WriteAll(const FileDescriptor& fd, const std::string& path, ByteSpan bytes) {
  struct stat info = {};
  const bool file = fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode);
  while (!bytes.empty()) {
    HEFT_RETURN_IF_ERROR(AwaitReady(fd, POLLOUT));
    const size_t size = file ? bytes.size() : std::min<size_t>(bytes.size(), PIPE_BUF);
    const ssize_t n = write(fd.get(), bytes.data(), size);
    if (n < 0 && errno == EINTR) {
      HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
      continue;
    }
    if (n <= 0) return SystemError("cannot write", path, n < 0 ? errno : EIO);
    bytes = bytes.subspan(n);
  }
  return absl::OkStatus();
}

// AdviseHugePages: for memory that will be filled. A page fault for each 4 kB takes longer than
// reading them.
void AdviseHugePages([[maybe_unused]] void* memory, [[maybe_unused]] size_t size) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<uintptr_t>(memory) + size) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

template <typename Container>
absl::StatusOr<Container> ReadAll(const std::string& path, uint64_t max_size) {
  struct stat info;
  HEFT_ASSIGN_OR_RETURN(const FileDescriptor fd, OpenToRead(path, max_size, &info));
  Container content;
  if (S_ISREG(info.st_mode)) {
    content.reserve(info.st_size);
    AdviseHugePages(content.data(), info.st_size);
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

absl::Status internal::SystemError(std::string_view action, const std::string& path, int error) {
  const std::string message =
      absl::StrCat(std::string(action), " ", path, ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path, uint64_t max_size) {
  return ReadAll<std::vector<uint8_t>>(path, max_size);
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t max_size) {
  return ReadAll<std::string>(path, max_size);
}

absl::StatusOr<SecretFile> ReadSecretFile(const std::string& path, uint64_t max_size) {
  struct stat info;
  // All checks are of the opened file. Links of open descriptors belong to the kernel.
  const bool link = Descriptor(path) < 0 && path != "/dev/stdin";
  HEFT_ASSIGN_OR_RETURN(const FileDescriptor fd,
                        OpenToRead(path, max_size, &info, link ? O_NOFOLLOW : 0));
  SecretFile file;
  file.permissions = CheckSecretOwner(info, path);
  const size_t room = S_ISREG(info.st_mode) ? info.st_size : max_size;  // a pipe reports no size
  HEFT_ASSIGN_OR_RETURN(auto buffer, SecureVector<uint8_t>::Create(room));
  HEFT_ASSIGN_OR_RETURN(const size_t size, ReadInto(fd, path, buffer.data(), room));
  HEFT_ASSIGN_OR_RETURN(file.bytes, SecureVector<uint8_t>::Create(size));
  std::copy_n(buffer.data(), size, file.bytes.data());
  return file;
}

absl::Status WriteFileAtomic(const std::string& path, std::span<const ByteSpan> pieces,
                             mode_t mode) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int raw = mkostemp(temporary.data(), O_CLOEXEC);  // Created with mode 0600.
  if (raw < 0) return SystemError("cannot write", path, errno);
  struct Removal {  // unless it has been renamed
    ~Removal() {
      if (name != nullptr) unlink(name);
    }
    const char* name;
  } removal{temporary.c_str()};
  {
    FileDescriptor fd(raw);
    for (const ByteSpan bytes : pieces) HEFT_RETURN_IF_ERROR(WriteAll(fd, path, bytes));
    if (fchmod(fd.get(), mode) != 0) return SystemError("cannot set permissions of", path, errno);
    if (fsync(fd.get()) != 0) return SystemError("cannot flush", path, errno);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return SystemError("cannot rename to", path, errno);
  }
  removal.name = nullptr;
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

absl::Status WriteFileAtomic(const std::string& path, ByteSpan bytes, mode_t mode) {
  return WriteFileAtomic(path, std::span<const ByteSpan>(&bytes, 1), mode);
}

absl::Status WriteFileAtomic(const std::string& path, std::string_view text, mode_t mode) {
  return WriteFileAtomic(path, AsBytes(text), mode);
}

namespace {

// LinkTarget: the path at the end of a chain of symbolic links, even if no file exists there.
absl::StatusOr<std::string> LinkTarget(const std::string& path) {
  constexpr int kLongestChain = 40;  // as the kernel has it
  std::filesystem::path at = path;
  for (int i = 0; i < kLongestChain; ++i) {
    std::error_code error;
    if (!std::filesystem::is_symlink(at, error)) return at.string();
    const std::filesystem::path next = std::filesystem::read_symlink(at, error);
    if (error) return SystemError("cannot write", path, error.value());
    at = at.parent_path() / next;  // `next` alone if that is absolute
  }
  return SystemError("cannot write", path, ELOOP);
}

absl::Status WriteThrough(const std::string& path, ByteSpan bytes) {
  const int descriptor = Descriptor(path);
  if (descriptor < 0) {
    HEFT_ASSIGN_OR_RETURN(const FileDescriptor fd, Open(path, O_WRONLY));
    return WriteAll(fd, path, bytes);
  }
  const FileDescriptor fd(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (fd.get() < 0) return SystemError("cannot write", path, errno);
  return WriteAll(fd, path, bytes);
}

}  // namespace

absl::Status WriteOutput(const std::string& path, ByteSpan bytes) {
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && (S_ISBLK(info.st_mode) || S_ISSOCK(info.st_mode))) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path, ": it is a ",
                     S_ISBLK(info.st_mode) ? "block device" : "socket", ", choose a file"));
  }
  const bool stream = exists && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
  if (stream || Descriptor(path) >= 0) return WriteThrough(path, bytes);
  HEFT_ASSIGN_OR_RETURN(const std::string target, LinkTarget(path));
  return WriteFileAtomic(target, bytes);
}

absl::Status WriteFile(const std::string& path, std::span<const uint8_t> bytes) {
  HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
  HEFT_RETURN_IF_ERROR(CheckOutput(path));
  HEFT_RETURN_IF_ERROR(WriteOutput(path, bytes));
  NoteInput(path);
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& path, std::string_view text) {
  return WriteFile(path, AsBytes(text));
}

void NoteInput(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) UsedFiles::Get().Add(info);
}

void GuardInputs() { UsedFiles::Get().Guard(); }

absl::Status CheckOutput(const std::string& path) {
  struct stat info = {};
  if (Descriptor(path) >= 0) return absl::OkStatus();
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && UsedFiles::Get().Has(info)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path,
                     ": this command uses that file already, choose another for its output"));
  }
  if (exists && S_ISDIR(info.st_mode)) return SystemError("cannot write", path, EISDIR);
  std::string written = path;  // a pipe or a device, or the folder of a new file
  if (!exists || S_ISREG(info.st_mode)) {
    HEFT_ASSIGN_OR_RETURN(const std::string target, LinkTarget(path));
    written = std::filesystem::path(target).parent_path().string();
    if (written.empty()) written.push_back('.');
  }
  if (faccessat(AT_FDCWD, written.c_str(), W_OK, AT_EACCESS) == 0) return absl::OkStatus();
  return SystemError("cannot write", path, errno);
}

void SetInterruptedCheck(bool (*interrupted)()) { g_interrupted = interrupted; }

absl::Status CheckNotInterrupted() {
  if (g_interrupted == nullptr || !g_interrupted()) return absl::OkStatus();
  return absl::CancelledError("interrupted");
}

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

absl::StatusOr<FileLock> FileLock::Take(const std::string& path, mode_t mode,
                                        std::string_view busy) {
  // Some file systems number a file differently each time; there the check is impossible.
  constexpr int kTries = 16;
  for (int tries = 1;; ++tries) {
    FileLock lock(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, mode));
    if (lock.fd_ < 0) {
      return absl::UnavailableError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
    }
    while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        return absl::UnavailableError(
            absl::StrCat("cannot lock ", path, ": ", std::strerror(errno)));
      }
      if (errno == EWOULDBLOCK && !busy.empty()) return absl::UnavailableError(std::string(busy));
      HEFT_RETURN_IF_ERROR(Pause());
    }
    // Another file may have this name now, and other processes may already lock that one.
    struct stat held, named;
    if (fstat(lock.fd_, &held) == 0 && stat(path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      return lock;
    }
    if (tries == kTries) return lock;
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace heft
