// SPDX-License-Identifier: Apache-2.0
// What snapshots, restored, exported and imported galleries have in common (heft/gallery_admin.h).
#ifndef HEFT_GALLERY_GALLERY_COPIES_H_
#define HEFT_GALLERY_GALLERY_COPIES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "gallery/gallery_impl.h"
#include "gallery/store.h"
#include "gallery/unlisted.h"

namespace heft {

// GalleriesOf: all of a store in `folder`. kDataLoss where one of them is damaged.
absl::StatusOr<std::vector<Gallery::Impl>> GalleriesOf(const std::shared_ptr<Store>& store,
                                                       const std::string& folder);
// StoreNames: their names, in the order of the alphabet.
absl::StatusOr<std::vector<std::string>> StoreNames(const StoreReader& reader);

// CopyTables: all that is the gallery's, under another number.
absl::Status CopyTables(const Gallery::Impl& from, uint32_t number, const Progress& progress,
                        SteppedWriter* writer);

// CopyServerFiles: what lies beside a store: with secret keys and the log of requests, or without.
// kEverything: whatever else is there, too. What `to` has already stays.
enum class ServerFiles { kPublic, kAll, kEverything };
absl::Status CopyServerFiles(const std::string& from, const std::string& to, ServerFiles which);

}  // namespace heft

#endif  // HEFT_GALLERY_GALLERY_COPIES_H_
