// SPDX-License-Identifier: Apache-2.0
// Replaces a folder by a prepared one, in one exchange of names.
#ifndef HEFT_GALLERY_FOLDER_EXCHANGE_H_
#define HEFT_GALLERY_FOLDER_EXCHANGE_H_

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/status.h"

namespace heft {

// FolderTurn: a lock against others that exchange this folder, which need not exist yet. It leaves
// no file, and ends with the process.
class FolderTurn {
 public:
  // Take: waits for others, then kUnavailable.
  static absl::StatusOr<FolderTurn> Take(const std::string& folder, absl::Duration wait);
  FolderTurn(FolderTurn&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderTurn& operator=(FolderTurn&&) = delete;
  ~FolderTurn();

 private:
  explicit FolderTurn(int fd) : fd_(fd) {}
  int fd_;
};

// CanonicalFolder: the path without links, "." and "..".
std::string CanonicalFolder(const std::string& folder);

// StagingFolder: the folder beside `folder` in which its replacement is prepared. It is removed
// with its contents.
struct StagingFolder {
  explicit StagingFolder(const std::string& folder) : path(folder + ".restoring") {}
  ~StagingFolder() { Remove(); }
  void Remove() const;
  const std::string path;
};

// ExchangeFolders: exchanges the folders `ready` and `folder`, or renames `ready` if `folder` is
// not `there`. Atomic and durable.
absl::Status ExchangeFolders(const std::string& ready, const std::string& folder, bool there);

}  // namespace heft

#endif  // HEFT_GALLERY_FOLDER_EXCHANGE_H_
