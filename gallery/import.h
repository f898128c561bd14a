// SPDX-License-Identifier: Apache-2.0
// ImportLegacyGallery: a gallery of version 0.1 into a store.
#ifndef HEFT_GALLERY_IMPORT_H_
#define HEFT_GALLERY_IMPORT_H_

#include <functional>
#include <string>

#include "base/status.h"
#include "fusion/rings.h"
#include "heft/model.h"

namespace heft {

// Imports the gallery of `from` as the one of `to`, which must not exist yet, with its id,
// generation, names, what waits, revoked keys, and the server's keys and its log of requests. All
// or nothing, in one pass over the blocks; `from` stays as it was, and may be the same folder.
// kCancelled if `progress`, called with (blocks done, all), returns false.
absl::Status ImportLegacyGallery(const std::string& from, const std::string& to, const Model& model,
                                 const std::function<bool(size_t, size_t)>& progress = {});

}  // namespace heft

#endif  // HEFT_GALLERY_IMPORT_H_
