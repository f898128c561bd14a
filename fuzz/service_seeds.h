// SPDX-License-Identifier: Apache-2.0
// Seeds of the targets for service/: text alone.
#ifndef HEFT_FUZZ_SERVICE_SEEDS_H_
#define HEFT_FUZZ_SERVICE_SEEDS_H_

#include <string_view>
#include <vector>

namespace heft::fuzz {

struct TextSeed {
  const char* target;
  const char* name;
  std::string_view text;
};
std::vector<TextSeed> ServiceSeeds();

}  // namespace heft::fuzz

#endif  // HEFT_FUZZ_SERVICE_SEEDS_H_
