// SPDX-License-Identifier: Apache-2.0
#include "base/state_folder.h"

#include <cstdlib>

namespace heft {

std::string StateFolder() {
  const auto named = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string own = named("HEFT_STATE_DIR"); !own.empty()) return own;
  // The XDG standard says that relative paths must be ignored.
  if (const std::string state = named("XDG_STATE_HOME"); state.starts_with("/")) {
    return state + "/heft";
  }
  if (const std::string home = named("HOME"); home.starts_with("/")) {
    return home + "/.local/state/heft";
  }
  return "/var/lib/heft";
}

}  // namespace heft
