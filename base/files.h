// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Writing is atomic: a reader sees the old file or the new one, never a
// part, and a failed write leaves the old file as it was. Pipes are waited for; a signal ends the
// wait where SetInterruptedCheck says so.
#ifndef HEFT_BASE_FILES_H_
#define HEFT_BASE_FILES_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"

namespace heft {

// kMaxFileSize: larger files are refused before memory is taken; nothing we write is that large.
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << 34;

// ReadFile, ReadTextFile: the whole of a file or pipe. kNotFound, kUnavailable where the system
// refuses, kInvalidArgument for a directory and for more than `max_size` bytes.
absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path,
                                              uint64_t max_size = kMaxFileSize);
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         uint64_t max_size = uint64_t{1} << 31);

// SecretFile: a file with secrets, in memory for secrets. `permissions` is kFailedPrecondition if
// anybody but its owner may read or write it: for the caller to refuse, once it knows what it is.
struct SecretFile {
  SecureVector<uint8_t> bytes;
  absl::Status permissions;
};
absl::StatusOr<SecretFile> ReadSecretFile(const std::string& path, uint64_t max_size);

// WriteFileAtomic writes to a temporary name beside `path`, flushes to disk and renames. `mode` is
// the file's permission bits from the first moment it exists.
absl::Status WriteFileAtomic(const std::string& path, ByteSpan bytes, mode_t mode = 0644);
absl::Status WriteFileAtomic(const std::string& path, std::string_view text, mode_t mode = 0644);

// WriteOutput writes to a path that a user chose. A file is written by WriteFileAtomic, one behind
// a symbolic link in its own place, so that the link stays. Pipes and character devices (/dev/null,
// /dev/stdout) are written to as they are. kInvalidArgument for block devices and sockets.
absl::Status WriteOutput(const std::string& path, ByteSpan bytes, mode_t mode = 0644);

// SetInterruptedCheck: what is asked when a signal interrupts a wait for a pipe, or for a lock.
// True ends the wait with kCancelled. Without a check, waits go on. For handlers without
// SA_RESTART.
void SetInterruptedCheck(bool (*interrupted)());
// CheckNotInterrupted: kCancelled if that check is set and says so.
absl::Status CheckNotInterrupted();

// FileId: which file it is, whatever its paths are.
struct FileId {
  uint64_t device = 0, inode = 0;
  auto operator<=>(const FileId&) const = default;
};
// IdOf: of the file that `path` leads to; nothing where there is none, or no regular one.
std::optional<FileId> IdOf(const std::string& path);
// SetReadObserver: told of every regular file that is opened to be read, by whatever thread.
void SetReadObserver(void (*observer)(const FileId&));

// FileExists: whether the path leads to anything, a directory included.
bool FileExists(const std::string& path);
// MakeDirectories makes the folder `path` and those above it. kUnavailable, saying what is there,
// where something else has the name.
absl::Status MakeDirectories(const std::string& path);
// SyncDirectory flushes a directory's entries (a rename is durable only after that).
absl::Status SyncDirectory(const std::string& path);

}  // namespace heft

#endif  // HEFT_BASE_FILES_H_
