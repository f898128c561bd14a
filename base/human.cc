// SPDX-License-Identifier: Apache-2.0
#include "base/human.h"

#include "absl/strings/str_format.h"

namespace heft {

std::string HumanBytes(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  if (bytes < 10 && unit[0] != 'b') return absl::StrFormat("%.2f %s", bytes, unit);
  return absl::StrFormat("%.0f %s", bytes, unit);
}

}  // namespace heft
