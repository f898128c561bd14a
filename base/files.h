// SPDX-License-Identifier: Apache-2.0
// File functions for the library's own use (heft/files.h has the public ones).
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

// ReadTextFile: ReadFile for text.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         uint64_t max_size = uint64_t{1} << 31);

// SecretFile: a file with secrets, in memory for secrets. `permissions` is kFailedPrecondition if
// users other than its owner may read or write the file, or if the owner is neither the effective
// user nor root. The caller returns that error after it has identified the file. ReadSecretFile:
// kFailedPrecondition for a symbolic link, except links of open descriptors (/dev/fd/N).
struct SecretFile {
  SecureVector<uint8_t> bytes;
  absl::Status permissions;
};
absl::StatusOr<SecretFile> ReadSecretFile(const std::string& path, uint64_t max_size);

// WriteFileAtomic: writes to a temporary name beside `path`, flushes to disk and renames. The file
// has the permission bits `mode` from its creation on.
absl::Status WriteFileAtomic(const std::string& path, ByteSpan bytes, mode_t mode = 0644);
absl::Status WriteFileAtomic(const std::string& path, std::string_view text, mode_t mode = 0644);
// The same for several pieces, one after another.
absl::Status WriteFileAtomic(const std::string& path, std::span<const ByteSpan> pieces,
                             mode_t mode = 0644);

// WriteOutput: WriteFile without its guard, for files that are read and written repeatedly.
absl::Status WriteOutput(const std::string& path, ByteSpan bytes);

// CheckNotInterrupted: kCancelled if SetInterruptedCheck's function returns true.
absl::Status CheckNotInterrupted();

// FileExists: whether the path leads to a file of any kind, also a directory.
bool FileExists(const std::string& path);
// SyncDirectory: flushes a directory's entries. Only then is a rename durable.
absl::Status SyncDirectory(const std::string& path);

// FileLock: one process, or one object within it, holds it at a time. It is released when
// destroyed, and by the system when the process ends.
class FileLock {
 public:
  // Take: locks the file `path`, which is created with permission bits `mode` if it does not exist.
  // If the lock is held elsewhere: kUnavailable with the message `busy`, or, with an empty `busy`,
  // waits.
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
