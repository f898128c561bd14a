// SPDX-License-Identifier: Apache-2.0
// Creates folders durably: they exist after a crash, too.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/files_internal.h"

namespace heft {

using internal::SystemError;

absl::Status SyncDirectory(const std::string& path) {
  const int fd = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot open directory", path, errno);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  // Some file systems cannot flush a directory; a rename there cannot be made more durable.
  if (error != 0 && error != EINVAL) return SystemError("cannot flush", path, error);
  return absl::OkStatus();
}

namespace {

// SyncParent: flushes the entry of the folder `path` in its parent. If the parent may be entered
// but not read, it flushes the whole file system.
absl::Status SyncParent(const std::filesystem::path& path) {
  const std::string parent = path.parent_path().string();
  const char* const name = parent.empty() ? "." : parent.c_str();
  if (faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) == 0) return SyncDirectory(parent);
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot open directory", path.string(), errno);
  const int error = syncfs(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : SystemError("cannot flush", parent, error);
}

// MissingFolders: those of `path` and its parents that do not exist, outermost first.
std::vector<std::filesystem::path> MissingFolders(std::filesystem::path path) {
  std::vector<std::filesystem::path> missing;
  std::error_code ignored;
  if (!path.has_filename()) path = path.parent_path();  // FOLDER/ means FOLDER
  while (!path.empty() && !std::filesystem::exists(path, ignored)) {
    missing.push_back(path);
    path = path.parent_path();
  }
  std::ranges::reverse(missing);
  return missing;
}

}  // namespace

absl::Status MakeDirectories(const std::string& path) {
  const std::vector<std::filesystem::path> missing = MissingFolders(path);
  std::error_code error, ignored;
  std::filesystem::create_directories(path, error);
  if (!error) {
    absl::Status status;
    for (const std::filesystem::path& folder : missing) status.Update(SyncParent(folder));
    if (status.ok()) return status;
    // Only empty ones: other processes may use them by now.
    for (auto it = missing.rbegin(); it != missing.rend(); ++it) rmdir(it->c_str());
    return status;
  }
  if (std::filesystem::is_symlink(path, ignored) && !FileExists(path)) {
    const std::string target = std::filesystem::read_symlink(path, ignored).string();
    return absl::UnavailableError(absl::StrCat("cannot create directory ", path,
                                               ": it is a link to ", target,
                                               ", which does not exist; make that folder first"));
  }
  return SystemError("cannot create directory", path, error.value());
}

NewFolder::NewFolder(std::string path) : path_(std::move(path)), partial_(path_ + ".XXXXXX") {
  if (mkdtemp(partial_.data()) == nullptr) partial_.clear();
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::exchange(other.partial_, "")),
      files_(std::move(other.files_)) {}

absl::StatusOr<NewFolder> NewFolder::Create(const std::string& path) {
  std::filesystem::path out = path;
  if (!out.has_filename()) out = out.parent_path();  // FOLDER/ means FOLDER
  struct stat info;
  if (lstat(out.c_str(), &info) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, " exists: give the name of a new folder"));
  }
  NewFolder folder(out.string());
  if (folder.partial_.empty()) return SystemError("cannot make a folder beside", path, errno);
  return folder;
}

// Allocates no memory, because there may be none.
NewFolder::~NewFolder() {
  if (partial_.empty()) return;
  for (const std::string& file : files_) unlink(file.c_str());
  rmdir(partial_.c_str());
}

absl::Status NewFolder::Write(std::string_view name, std::span<const uint8_t> bytes) {
  files_.push_back(absl::StrCat(partial_, "/", std::string(name)));
  return WriteFileAtomic(files_.back(), bytes);
}

absl::Status NewFolder::Commit() {
  if (chmod(partial_.c_str(), 0755) != 0 || rename(partial_.c_str(), path_.c_str()) != 0) {
    return SystemError("cannot make the folder", path_, errno);
  }
  partial_.clear();
  return SyncDirectory(std::filesystem::path(path_).parent_path().string());
}

}  // namespace heft
