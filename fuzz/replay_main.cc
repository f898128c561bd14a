// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on files, without libFuzzer and with any compiler:
//
//   replay_TARGET FILE_OR_FOLDER...
//
// A folder stands for the files in it; one that is not there holds none. The program ends with an
// abort where the target finds something.
#include <filesystem>
#include <iostream>

#include "base/files.h"
#include "fuzz/fuzz.h"

namespace {

std::vector<std::string> FilesOf(const std::string& path) {
  if (std::filesystem::is_regular_file(path)) return {path};
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(path, missing)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::string& file : FilesOf(argv[i])) {
      const auto bytes = heft::ReadFile(file);
      if (!bytes.ok()) {
        std::cerr << bytes.status().message() << "\n";
        return 1;
      }
      std::cerr << file << "\n";
      LLVMFuzzerTestOneInput(bytes->data(), bytes->size());
      ++inputs;
    }
  }
  std::cout << inputs << " inputs\n";
  if (inputs == 0) std::cerr << "no input: give files, or folders that hold some\n";
  return inputs == 0 ? 2 : 0;
}
