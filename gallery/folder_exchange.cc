// SPDX-License-Identifier: Apache-2.0
#include "gallery/folder_exchange.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"

namespace heft {

namespace fs = std::filesystem;

absl::StatusOr<FolderTurn> FolderTurn::Take(const std::string& folder, absl::Duration wait) {
  const std::string parent = fs::path(folder).parent_path().string();
  FolderTurn turn(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (turn.fd_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot open ", parent, ": ", std::strerror(errno)));
  }
  const absl::Time end = absl::Now() + wait;
  while (flock(turn.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return absl::UnavailableError(
          absl::StrCat("cannot lock ", parent, ": ", std::strerror(errno)));
    }
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
    if (absl::Now() >= end) {
      return absl::UnavailableError(absl::StrCat("another process restores into a folder of ",
                                                 parent, ": wait longer, or end it"));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return turn;
}

FolderTurn::~FolderTurn() {
  if (fd_ >= 0) close(fd_);
}

std::string CanonicalFolder(const std::string& folder) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  std::string text = path.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

void StagingFolder::Remove() const {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

absl::Status ExchangeFolders(const std::string& ready, const std::string& folder, bool there) {
  const unsigned flags = there ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, ready.c_str(), AT_FDCWD, folder.c_str(), flags) != 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot put ", ready, " in place of ", folder, ": ", std::strerror(errno),
        errno == EBUSY || errno == EXDEV || errno == EINVAL
            ? ": the folder is mounted, or its file system cannot exchange names: restore into a "
              "new folder, and move it there while no process uses the gallery"
            : ""));
  }
  return SyncDirectory(fs::path(folder).parent_path().string());
}

}  // namespace heft
