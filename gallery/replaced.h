// SPDX-License-Identifier: Apache-2.0
// Replaced: the store that a restored one replaces, intact or damaged: all that can still be read
// of its galleries, most importantly their erasures.
#ifndef HEFT_GALLERY_REPLACED_H_
#define HEFT_GALLERY_REPLACED_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "gallery/gallery_impl.h"
#include "gallery/records.h"
#include "store/store.h"

namespace heft {

struct ReplacedGallery {
  std::string name;
  std::optional<GalleryHead> head;
  std::optional<Gallery::Impl> impl;    // if it opens
  std::vector<ReceiptRecord> receipts;  // including due ones
  std::vector<ErasedItem> leaving;
  absl::Status unread;  // why receipts or leaving templates may be missing here
};

struct Replaced {
  bool there = false;
  absl::Status damaged;  // why not everything is known
  absl::Status unread;   // why a gallery with unknown id may have receipts
  std::unique_ptr<StoreLock> lock;
  std::optional<FileLock> folder_lock;  // for a folder whose store does not open
  std::map<GalleryId, ReplacedGallery> galleries;

  const ReplacedGallery* Find(const GalleryId& id) const {
    const auto it = galleries.find(id);
    return it == galleries.end() ? nullptr : &it->second;
  }
  // Why receipts of this gallery may be unknown.
  absl::Status Unread(const GalleryId& id) const {
    const ReplacedGallery* gallery = Find(id);
    return gallery == nullptr ? unread : gallery->unread;
  }
};

// LookAtReplaced: locks the gallery against changes while the result lives. If receipts are due, it
// overwrites deleted data. Errors are the system's.
absl::StatusOr<Replaced> LookAtReplaced(const std::string& folder);

}  // namespace heft

#endif  // HEFT_GALLERY_REPLACED_H_
