// SPDX-License-Identifier: Apache-2.0
#include "base/new_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace heft {

absl::StatusOr<NewFolder> NewFolder::Create(const std::string& path) {
  std::filesystem::path out = path;
  if (!out.has_filename()) out = out.parent_path();  // FOLDER/ means FOLDER
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " exists: give the name of a folder that is to be made"));
  }
  std::string partial = out.string() + ".XXXXXX";
  if (mkdtemp(partial.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder beside ", path));
  }
  return NewFolder(out.string(), std::move(partial));
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!partial_.empty()) std::filesystem::remove_all(partial_, ignored);
}

absl::Status NewFolder::Commit() {
  using std::filesystem::perms;
  constexpr perms kReadable = perms::owner_all | perms::group_read | perms::group_exec |
                              perms::others_read | perms::others_exec;
  std::error_code error;
  std::filesystem::permissions(partial_, kReadable, error);
  if (!error) std::filesystem::rename(partial_, path_, error);
  if (error) return absl::InternalError(absl::StrCat(path_, ": ", error.message()));
  partial_.clear();
  return absl::OkStatus();
}

}  // namespace heft
