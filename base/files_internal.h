// SPDX-License-Identifier: Apache-2.0
// Shared by files.cc and folders.cc.
#ifndef HEFT_BASE_FILES_INTERNAL_H_
#define HEFT_BASE_FILES_INTERNAL_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace heft::internal {

// SystemError: "ACTION PATH: " and the system's text for `error`; kNotFound or kUnavailable.
absl::Status SystemError(std::string_view action, const std::string& path, int error);

}  // namespace heft::internal

#endif  // HEFT_BASE_FILES_INTERNAL_H_
