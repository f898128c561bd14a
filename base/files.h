// SPDX-License-Identifier: Apache-2.0
// Of files (heft/files.h), what the rooms alone need.
#ifndef HEFT_BASE_FILES_H_
#define HEFT_BASE_FILES_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "heft/files.h"

namespace heft {

// ReadTextFile: ReadFile, of text.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         uint64_t max_size = uint64_t{1} << 31);

// SecretFile: a file with secrets, in memory for secrets. `permissions` is kFailedPrecondition if
// anybody but its owner may read or write it, or if that is neither the effective user nor root: of
// the file that was read, for the caller to refuse, once it knows what it is. ReadSecretFile:
// kFailedPrecondition for a symbolic link, but for those of open descriptors (/dev/fd/N).
struct SecretFile {
  SecureVector<uint8_t> bytes;
  absl::Status permissions;
};
absl::StatusOr<SecretFile> ReadSecretFile(const std::string& path, uint64_t max_size);

// WriteFileAtomic writes to a temporary name beside `path`, flushes to disk and renames. `mode` is
// the file's permission bits from the first moment it exists.
absl::Status WriteFileAtomic(const std::string& path, ByteSpan bytes, mode_t mode = 0644);
absl::Status WriteFileAtomic(const std::string& path, std::string_view text, mode_t mode = 0644);
// The same of pieces, one after the other.
absl::Status WriteFileAtomic(const std::string& path, std::span<const ByteSpan> pieces,
                             mode_t mode = 0644);

// WriteOutput: WriteFile without its guard, for what is read and written again.
absl::Status WriteOutput(const std::string& path, ByteSpan bytes);

// CheckNotInterrupted: kCancelled if SetInterruptedCheck's function says so.
absl::Status CheckNotInterrupted();

// FileExists: whether the path leads to anything, a directory included.
bool FileExists(const std::string& path);
// SyncDirectory flushes a directory's entries (a rename is durable only after that).
absl::Status SyncDirectory(const std::string& path);

// FileLock: held by one process, or one object within it, at a time; released when destroyed, and
// by the system when the process ends.
class FileLock {
 public:
  // Take locks the file `path`, which is made with permission bits `mode` if it is not there.
  // kUnavailable with the message `busy` if somebody else holds it; with an empty `busy` it waits
  // for them.
  static absl::StatusOr<FileLock> Take(const std::string& path, mode_t mode,
                                       std::string_view busy = {});
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace heft

#endif  // HEFT_BASE_FILES_H_
