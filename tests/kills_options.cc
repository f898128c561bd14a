// SPDX-License-Identifier: Apache-2.0
#include "tests/kills_options.h"

#include "absl/strings/numbers.h"

namespace heft::kills {

bool Parse(const std::vector<std::string>& arguments, Options* options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (arguments[i] == "--seed" && absl::SimpleAtoi(value, &options->seed)) {
      ++i;
    } else if (arguments[i] == "--seconds" && absl::SimpleAtod(value, &options->seconds)) {
      ++i;
    } else if (arguments[i] == "--folder" && !value.empty()) {
      options->folder = arguments[++i];
    } else if (arguments[i] == "--service" && !value.empty()) {
      options->service = arguments[++i];
    } else if (arguments[i] == "--disturb" && !value.empty()) {
      options->disturb = arguments[++i];
    } else if (arguments[i] == "--tally" && !value.empty()) {
      options->tally = arguments[++i];
    } else if (!absl::SimpleAtoi(arguments[i], &options->kills)) {
      return false;
    }
  }
  // Only failures of a database have tallies, because each has a number.
  return options->service.empty() == options->disturb.empty() &&
         (options->tally.empty() || options->in_database());
}

}  // namespace heft::kills
