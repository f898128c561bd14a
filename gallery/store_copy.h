// SPDX-License-Identifier: Apache-2.0
#ifndef HEFT_GALLERY_STORE_COPY_H_
#define HEFT_GALLERY_STORE_COPY_H_

#include <cstdint>
#include <functional>
#include <string>

#include "gallery/store.h"

namespace heft {

// CopyStore: copies a state of any store, of about so many bytes, into a folder: Store::Copy.
absl::Status CopyStore(const std::string& folder, const StoreReader& from, uint64_t bytes,
                       const std::function<bool(uint64_t, uint64_t)>& progress);

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_COPY_H_
