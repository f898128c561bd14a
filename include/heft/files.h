// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files. A write replaces a file in one step: a reader sees the old file
// or the new one, and a failed write leaves the old one unchanged. kUnavailable if the operating
// system refuses. Safe from any thread. Link heft::server.
#ifndef HEFT_FILES_H_
#define HEFT_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

// kMaxFileSize: larger files are refused before memory is allocated; HEFT writes no larger files.
// The other limits are for files of other roles, which may claim any size: a model, keys, the
// samples of one request, a reply.
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << 34;
inline constexpr uint64_t kMaxModelSize = uint64_t{1} << 28;
inline constexpr uint64_t kMaxKeysSize = uint64_t{1} << 31;
inline constexpr uint64_t kMaxSamplesSize = uint64_t{1} << 30;
inline constexpr uint64_t kMaxReplySize = uint64_t{1} << 30;

// ReadFile: reads a whole file or pipe. kNotFound; kInvalidArgument for a directory and for more
// than `max_size` bytes.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path,
                                                          uint64_t max_size = kMaxFileSize);

// WriteFile: writes to a path that a user chose. If `path` is a symbolic link, the file behind it
// is replaced and the link stays. Pipes and character devices (/dev/null, /dev/stdout) are written
// to directly. kInvalidArgument for block devices and sockets, and as CheckOutput; kCancelled, with
// nothing written, if the function of SetInterruptedCheck returns true.
HEFT_EXPORT absl::Status WriteFile(const std::string& path, std::span<const uint8_t> bytes);
HEFT_EXPORT absl::Status WriteFile(const std::string& path, std::string_view text);

// GuardInputs: for programs that run one job: from now on WriteFile refuses to replace files that
// this process has read or written, under any name. CheckOutput: kInvalidArgument if WriteFile
// would refuse `path`; call it before long work.
HEFT_EXPORT void GuardInputs();
HEFT_EXPORT absl::Status CheckOutput(const std::string& path);

// MakeDirectories: creates the folder `path` and its parents. kUnavailable, naming the obstacle, if
// another kind of file has the name.
HEFT_EXPORT absl::Status MakeDirectories(const std::string& path);

// NewFolder: a folder that appears with all its files, or not at all.
class HEFT_EXPORT NewFolder {
 public:
  // Creates a folder under a temporary name beside `path`. kInvalidArgument if `path` exists.
  static absl::StatusOr<NewFolder> Create(const std::string& path);

  NewFolder(NewFolder&& other) noexcept;
  // Removes the folder unless Commit has succeeded, after any failure, also of memory.
  ~NewFolder();

  // Writes a file in it; names must differ.
  absl::Status Write(std::string_view name, std::span<const uint8_t> bytes);
  // Gives the folder its name and makes it readable for everybody.
  absl::Status Commit();

 private:
  explicit NewFolder(std::string path);

  std::string path_, partial_;
  std::vector<std::string> files_;
};

// SetInterruptedCheck: a function to call when a signal without SA_RESTART interrupts a wait for a
// pipe or a lock. If it returns true, the wait ends with kCancelled. Without a function, waits
// continue. Safe from any thread.
HEFT_EXPORT void SetInterruptedCheck(bool (*interrupted)());

}  // namespace heft

#endif  // HEFT_FILES_H_
