// SPDX-License-Identifier: Apache-2.0
// MappedFile: a file of this user's own in memory where it lies, read only. Processes share its
// pages.
#ifndef HEFT_BASE_MAPPED_FILE_H_
#define HEFT_BASE_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// MappedFile: copies share the mapping. It stays what it was when another file takes the name; who
// writes into the file itself, or cuts it short, changes what is read, or ends the process.
class MappedFile {
 public:
  // kNotFound; kFailedPrecondition for what somebody else could have put there or may change: a
  // symbolic link, no regular file, a file of another user than this one or root, one that group or
  // others may write. kUnavailable where the system refuses.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  ByteSpan bytes() const { return bytes_; }  // from a page's start
  // Keeps the mapping.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  MappedFile() = default;
  std::shared_ptr<const void> owner_;
  ByteSpan bytes_;
};

// FileStamp: what the system says of a file behind a path. Whoever writes to the file, or puts
// another in its place, changes it.
struct FileStamp {
  uint64_t inode = 0, size = 0;
  uint64_t modified = 0, changed = 0;  // nanoseconds of Unix time; nobody sets the second
  bool operator==(const FileStamp&) const = default;
};
// kNotFound, kUnavailable.
absl::StatusOr<FileStamp> FileStampOf(const std::string& path);
// SettledFileStamp: of a file that was last changed longer ago than file systems tell times apart:
// what changes from here on changes the stamp. It waits for that, up to two seconds a change.
absl::StatusOr<FileStamp> SettledFileStamp(const std::string& path);

}  // namespace heft

#endif  // HEFT_BASE_MAPPED_FILE_H_
