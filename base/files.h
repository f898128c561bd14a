// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Writing is atomic: a reader sees the old file or the new one, never a
// part, and a failed write leaves the old file as it was.
#ifndef HEFT_BASE_FILES_H_
#define HEFT_BASE_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"

namespace heft {

// Files over this size are refused before memory is taken: nothing we write is that large.
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << 34;

absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path,
                                              uint64_t max_size = kMaxFileSize);
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         uint64_t max_size = uint64_t{1} << 31);

// A file with secrets, read into memory for secrets. `permissions` is kFailedPrecondition if
// anybody but its owner may read or write it: for the caller to refuse, once it knows what it is.
struct SecretFile {
  SecureVector<uint8_t> bytes;
  absl::Status permissions;
};
absl::StatusOr<SecretFile> ReadSecretFile(const std::string& path, uint64_t max_size);

// Writes to a temporary name beside `path`, flushes to disk and renames. `mode` is the file's
// permission bits from the first moment it exists.
absl::Status WriteFileAtomic(const std::string& path, ByteSpan bytes, mode_t mode = 0644);
absl::Status WriteFileAtomic(const std::string& path, std::string_view text, mode_t mode = 0644);

bool FileExists(const std::string& path);
absl::Status MakeDirectories(const std::string& path);
// Flushes a directory's entries (a rename is durable only after that).
absl::Status SyncDirectory(const std::string& path);

}  // namespace heft

#endif  // HEFT_BASE_FILES_H_
