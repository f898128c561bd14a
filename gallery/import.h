// SPDX-License-Identifier: Apache-2.0
// Import of a gallery into another store.
#ifndef HEFT_GALLERY_IMPORT_H_
#define HEFT_GALLERY_IMPORT_H_

#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "gallery/gallery_impl.h"
#include "gallery/unlisted.h"
#include "heft/gallery_admin.h"

namespace heft {

// ImportFromStore: copies `from`, which is in another store and stays unchanged, as the gallery
// `to`, in transactions of about `step` bytes. All or nothing. kAlreadyExists if there is a gallery
// `to`, or one of that id in its store; kFailedPrecondition if `from` is older than its remembered
// generation.
absl::StatusOr<CopiedGallery> ImportFromStore(const Gallery::Impl& from, const std::string& to,
                                              const Progress& progress, uint64_t step = kStepBytes);

}  // namespace heft

#endif  // HEFT_GALLERY_IMPORT_H_
