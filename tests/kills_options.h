// SPDX-License-Identifier: Apache-2.0
// The options of gallery_kills.
#ifndef HEFT_TESTS_KILLS_OPTIONS_H_
#define HEFT_TESTS_KILLS_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heft::kills {

struct Options {
  size_t kills = 1000;
  uint64_t seed = 1;
  double seconds = 1e9;
  std::string folder;
  std::string service, disturb, tally;
  bool in_database() const { return !service.empty(); }
};

// Parse: returns false if the arguments are not valid.
bool Parse(const std::vector<std::string>& arguments, Options* options);

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_OPTIONS_H_
