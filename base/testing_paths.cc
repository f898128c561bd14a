// SPDX-License-Identifier: Apache-2.0
#include "base/testing.h"

namespace heft::testing {

std::string SourcePath(std::string_view name) {
  return std::string(HEFT_SOURCE_DIR "/").append(name);
}

}  // namespace heft::testing
