// SPDX-License-Identifier: Apache-2.0
// Helpers that the examples share.
#ifndef HEFT_EXAMPLES_COMMON_H_
#define HEFT_EXAMPLES_COMMON_H_

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

// Check: returns the value; on an error prints it and ends the program.
template <typename T>
T Check(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << value.status().message() << "\n";
  std::exit(1);
}

// TemporaryFolder: a name for a folder, which is removed with its content.
struct TemporaryFolder {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("heft-example-" + std::to_string(std::random_device()()));
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

#endif  // HEFT_EXAMPLES_COMMON_H_
