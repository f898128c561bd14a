// SPDX-License-Identifier: Apache-2.0
// Results as the tools show them. Link heft::server.
#ifndef HEFT_DESCRIBED_H_
#define HEFT_DESCRIBED_H_

#include <string>
#include <vector>

#include "heft/json.h"

namespace heft {

// Described: a result as JSON and as lines for people, with warnings.
struct Described {
  Json json = {};
  std::string text = {};
  std::vector<std::string> warnings = {};
};

}  // namespace heft

#endif  // HEFT_DESCRIBED_H_
