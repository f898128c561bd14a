// SPDX-License-Identifier: Apache-2.0
// Files that grow at their end and are flushed before anybody relies on what was added.
#ifndef HEFT_BASE_APPEND_FILE_H_
#define HEFT_BASE_APPEND_FILE_H_

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// AppendToFile: cuts the file to `size` bytes if it is longer, appends, and flushes. Where that
// fails the file is cut to `size` again; a reader must know what is torn all the same, as power may
// go in between. kUnavailable. One process at a time: callers hold a lock.
absl::Status AppendToFile(const std::string& path, uint64_t size, ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_APPEND_FILE_H_
