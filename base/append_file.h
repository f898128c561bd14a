// SPDX-License-Identifier: Apache-2.0
// Files that grow at the end. Appended data are on the disk before the call returns.
#ifndef HEFT_BASE_APPEND_FILE_H_
#define HEFT_BASE_APPEND_FILE_H_

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// AppendToFile: cuts the file to `size` bytes if it is longer, appends, and flushes. On error it
// cuts the file to `size` again. Readers must still detect torn entries, because the machine may
// lose power in between. kUnavailable. Callers hold a lock: only one process may append at a time.
absl::Status AppendToFile(const std::string& path, uint64_t size, ByteSpan bytes);

}  // namespace heft

#endif  // HEFT_BASE_APPEND_FILE_H_
