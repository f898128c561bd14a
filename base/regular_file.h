// SPDX-License-Identifier: Apache-2.0
// ReadRegularFile: ReadFile (heft/files.h) from a folder that another user fills.
// kFailedPrecondition for a link, which can lead anywhere, and for a pipe, which can block the
// reader.
#ifndef HEFT_BASE_REGULAR_FILE_H_
#define HEFT_BASE_REGULAR_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace heft {

absl::StatusOr<std::vector<uint8_t>> ReadRegularFile(const std::string& path, uint64_t max_size);

}  // namespace heft

#endif  // HEFT_BASE_REGULAR_FILE_H_
