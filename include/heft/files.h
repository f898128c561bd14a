// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. A file that is written is replaced whole: a reader sees the old one or
// the new one, and a write that fails leaves the old one as it was. kUnavailable where the system
// refuses. Any thread may call. Link heft::server.
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

// kMaxFileSize: larger files are refused before memory is taken; nothing we write is that large.
// The others: of what another role has made, which may claim any size: a model, keys, the samples
// of one request, a reply.
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << 34;
inline constexpr uint64_t kMaxModelSize = uint64_t{1} << 28;
inline constexpr uint64_t kMaxKeysSize = uint64_t{1} << 31;
inline constexpr uint64_t kMaxSamplesSize = uint64_t{1} << 30;
inline constexpr uint64_t kMaxReplySize = uint64_t{1} << 30;

// ReadFile: the whole of a file or pipe. kNotFound; kInvalidArgument for a directory and for more
// than `max_size` bytes.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path,
                                                          uint64_t max_size = kMaxFileSize);

// WriteFile: to a path that a user chose. A file behind a symbolic link is replaced in its own
// place, so that the link stays; pipes and character devices (/dev/null, /dev/stdout) are written
// to as they are. kInvalidArgument for block devices and sockets, and as CheckOutput; kCancelled,
// with nothing written, where SetInterruptedCheck's function says so.
HEFT_EXPORT absl::Status WriteFile(const std::string& path, std::span<const uint8_t> bytes);
HEFT_EXPORT absl::Status WriteFile(const std::string& path, std::string_view text);

// GuardInputs: for programs that run one job: from here on, what this process reads, whatever the
// name, WriteFile does not replace, nor what it has written. CheckOutput: kInvalidArgument where it
// would refuse `path`, to be asked before long work.
HEFT_EXPORT void GuardInputs();
HEFT_EXPORT absl::Status CheckOutput(const std::string& path);

// MakeDirectories makes the folder `path` and those above it. kUnavailable, saying what is there,
// where something else has the name.
HEFT_EXPORT absl::Status MakeDirectories(const std::string& path);

// NewFolder: a folder that comes into being with all its files, or not at all.
class HEFT_EXPORT NewFolder {
 public:
  // Makes a folder under another name beside `path`. kInvalidArgument where `path` exists already.
  static absl::StatusOr<NewFolder> Create(const std::string& path);

  NewFolder(NewFolder&& other) noexcept;
  // Removes what Commit has not given its name, whatever has failed, memory included.
  ~NewFolder();

  // A file in it; names differ.
  absl::Status Write(std::string_view name, std::span<const uint8_t> bytes);
  // Gives the folder its name; everybody may read it.
  absl::Status Commit();

 private:
  explicit NewFolder(std::string path);

  std::string path_, partial_;
  std::vector<std::string> files_;
};

// SetInterruptedCheck: what is asked when a signal, without SA_RESTART, interrupts a wait for a
// pipe or a lock: true ends it with kCancelled. Without a check, waits go on. It may be called from
// any thread.
HEFT_EXPORT void SetInterruptedCheck(bool (*interrupted)());

}  // namespace heft

#endif  // HEFT_FILES_H_
