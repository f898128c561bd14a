// SPDX-License-Identifier: Apache-2.0
// MappedFile: a file of this user, mapped read-only. Processes share its pages.
#ifndef HEFT_BASE_MAPPED_FILE_H_
#define HEFT_BASE_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// MappedFile: copies share the mapping. Replacing the file under its name does not change the
// mapping. Writing into the file changes the mapped bytes; truncating it can end the process.
class MappedFile {
 public:
  // kNotFound; kFailedPrecondition if another user could have put the file there or can change it:
  // a symbolic link, not a regular file, owned by another user than this one or root, or writable
  // for group or others. kUnavailable if the operating system refuses.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  ByteSpan bytes() const { return bytes_; }  // from a page's start
  // Keeps the mapping.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  MappedFile() = default;
  std::shared_ptr<const void> owner_;
  ByteSpan bytes_;
};

// FileStamp: facts about the file at a path, which change if the file is written or replaced.
struct FileStamp {
  uint64_t inode = 0, size = 0;
  uint64_t modified = 0, changed = 0;  // nanoseconds of Unix time; no program sets the second
  bool operator==(const FileStamp&) const = default;
};
// kNotFound, kUnavailable.
absl::StatusOr<FileStamp> FileStampOf(const std::string& path);
// SettledFileStamp: a stamp that every later change alters. It waits until the last change is older
// than the resolution of file times, up to two seconds for each change.
absl::StatusOr<FileStamp> SettledFileStamp(const std::string& path);

}  // namespace heft

#endif  // HEFT_BASE_MAPPED_FILE_H_
