// SPDX-License-Identifier: Apache-2.0
// For readers of files in a folder.
#ifndef HEFT_FUZZ_FOLDER_H_
#define HEFT_FUZZ_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/fuzz.h"

namespace heft::fuzz {

// Folder: of this process, in memory where the system has such a place; removed with this object.
class Folder {
 public:
  Folder() {
    const bool memory = std::filesystem::is_directory("/dev/shm");
    std::string path = std::string(memory ? "/dev/shm" : "/tmp") + "/heft_fuzz_XXXXXX";
    Check(mkdtemp(path.data()) != nullptr, "a folder of its own");
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  void Write(const std::string& name, ByteSpan bytes) const {
    std::ofstream file(path_ + "/" + name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  }

 private:
  std::string path_;
};

}  // namespace heft::fuzz

#endif  // HEFT_FUZZ_FOLDER_H_
