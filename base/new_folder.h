// SPDX-License-Identifier: Apache-2.0
// NewFolder: a folder that comes into being with all its files, or not at all.
#ifndef HEFT_BASE_NEW_FOLDER_H_
#define HEFT_BASE_NEW_FOLDER_H_

#include <string>

#include "base/status.h"

namespace heft {

class NewFolder {
 public:
  // Makes a folder under another name beside `path`. kInvalidArgument where `path` exists already,
  // kUnavailable where the system refuses.
  static absl::StatusOr<NewFolder> Create(const std::string& path);

  NewFolder(NewFolder&& other) noexcept : path_(other.path_), partial_(std::move(other.partial_)) {
    other.partial_.clear();
  }
  // Removes what Commit has not given its name.
  ~NewFolder();

  // Where the files are written to.
  const std::string& partial() const { return partial_; }
  // Gives the folder its name; everybody may read it.
  absl::Status Commit();

 private:
  NewFolder(std::string path, std::string partial)
      : path_(std::move(path)), partial_(std::move(partial)) {}

  std::string path_;
  std::string partial_;  // empty: nothing to remove
};

}  // namespace heft

#endif  // HEFT_BASE_NEW_FOLDER_H_
