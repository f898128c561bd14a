// SPDX-License-Identifier: Apache-2.0
// Shared by snapshots, restored, exported and imported galleries (heft/gallery_admin.h).
#ifndef HEFT_GALLERY_GALLERY_COPIES_H_
#define HEFT_GALLERY_GALLERY_COPIES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "gallery/gallery_impl.h"
#include "gallery/unlisted.h"
#include "store/store.h"

namespace heft {

// GalleriesOf: all galleries of a store in `folder`. kDataLoss if one of them is damaged.
absl::StatusOr<std::vector<Gallery::Impl>> GalleriesOf(const std::shared_ptr<Store>& store,
                                                       const std::string& folder);
// StoreNames: their names, in alphabetical order.
absl::StatusOr<std::vector<std::string>> StoreNames(const StoreReader& reader);

// CopyTables: copies all rows of a gallery, under another number.
absl::Status CopyTables(const Gallery::Impl& from, uint32_t number, const Progress& progress,
                        SteppedWriter* writer);

// kKeysMade: the file with the names of the keys that a server has made (matcher/folder_key.h).
inline constexpr char kKeysMade[] = "keys.made";

// CopyServerFiles: copies the files beside a store, with or without secret keys and the log of
// requests. kEverything: also all other files. Files that exist in `to` stay.
enum class ServerFiles { kPublic, kAll, kEverything };
absl::Status CopyServerFiles(const std::string& from, const std::string& to, ServerFiles which);

}  // namespace heft

#endif  // HEFT_GALLERY_GALLERY_COPIES_H_
