// SPDX-License-Identifier: Apache-2.0
// What all the programs to read do and none of them is about.
#ifndef HEFT_EXAMPLES_COMMON_H_
#define HEFT_EXAMPLES_COMMON_H_

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

// Check: the value; or the program says what is wrong, and ends.
template <typename T>
T Check(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << value.status().message() << "\n";
  std::exit(1);
}

// TemporaryFolder: a name for a folder, which is removed with what is in it.
struct TemporaryFolder {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("heft-example-" + std::to_string(std::random_device()()));
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

#endif  // HEFT_EXAMPLES_COMMON_H_
