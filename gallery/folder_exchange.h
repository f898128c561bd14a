// SPDX-License-Identifier: Apache-2.0
// How a folder that was made ready takes the place of another, by one exchange of names.
#ifndef HEFT_GALLERY_FOLDER_EXCHANGE_H_
#define HEFT_GALLERY_FOLDER_EXCHANGE_H_

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/status.h"

namespace heft {

// FolderTurn: of those who exchange folders side by side, also where there is none yet. It leaves
// nothing behind, and ends with the process.
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

// CanonicalFolder: without links, and without what stands for itself in a path.
std::string CanonicalFolder(const std::string& folder);

// StagingFolder: beside `folder`, in which what takes its place is made ready; removed with
// whatever is in it.
struct StagingFolder {
  explicit StagingFolder(const std::string& folder) : path(folder + ".restoring") {}
  ~StagingFolder() { Remove(); }
  void Remove() const;
  const std::string path;
};

// ExchangeFolders: the folder `ready` takes the place of `folder`, and the other way round if one
// is `there`. All at once, durable.
absl::Status ExchangeFolders(const std::string& ready, const std::string& folder, bool there);

}  // namespace heft

#endif  // HEFT_GALLERY_FOLDER_EXCHANGE_H_
