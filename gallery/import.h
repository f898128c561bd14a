// SPDX-License-Identifier: Apache-2.0
// Import of galleries into a store: of version 0.1, and from other stores.
#ifndef HEFT_GALLERY_IMPORT_H_
#define HEFT_GALLERY_IMPORT_H_

#include <functional>
#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "fusion/rings.h"
#include "gallery/gallery_impl.h"
#include "gallery/unlisted.h"
#include "heft/gallery_admin.h"
#include "heft/model.h"

namespace heft {

// ImportLegacyGallery: imports the gallery of `from` as that of `to`, which must not exist yet,
// with its id, generation, names, pending enrolments, revoked keys, and the server's keys and log
// of requests. All or nothing, in one pass over the blocks. Memory: the names and a transaction of
// about `step` bytes. `from` is not changed. kAlreadyExists also if the store has a gallery of that
// id; kCancelled if `progress`, called with (blocks done, all), returns false.
absl::Status ImportLegacyGallery(const std::string& from, const std::string& to, const Model& model,
                                 const std::function<bool(size_t, size_t)>& progress = {},
                                 uint64_t step = kStepBytes);
// ImportFromStore: the same for a gallery in another store, unchanged. kFailedPrecondition if it is
// older than its remembered generation.
absl::StatusOr<CopiedGallery> ImportFromStore(const Gallery::Impl& from, const std::string& to,
                                              const Progress& progress, uint64_t step = kStepBytes);

}  // namespace heft

#endif  // HEFT_GALLERY_IMPORT_H_
