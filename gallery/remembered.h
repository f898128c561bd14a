// SPDX-License-Identifier: Apache-2.0
// How far galleries have come, as this user's state folder remembers it: by it an older copy is
// known for one, also where nothing else is left (docs/gallery.md, "Commands").
#ifndef HEFT_GALLERY_REMEMBERED_H_
#define HEFT_GALLERY_REMEMBERED_H_

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "heft/trust.h"

namespace heft {

// kRememberedEvery: a gallery may have come by less than this further than is remembered; and
// kRememberedSeconds: what it had come to so long before its last change is remembered. Erasures
// are remembered at once.
inline constexpr uint64_t kRememberedEvery = 64;
inline constexpr uint64_t kRememberedSeconds = 10;

// RememberedGeneration: what is remembered of a gallery, if anything. kDataLoss, kUnavailable.
absl::StatusOr<std::optional<uint64_t>> RememberedGeneration(const GalleryId& id);
// RememberGeneration: at once. Never goes back; any number of threads and processes.
absl::Status RememberGeneration(const GalleryId& id, uint64_t generation);
// RememberNowAndThen: for whoever has changed a gallery: costs a look at a file at the first call
// of a process, and seldom more. What cannot be written is tried again with a later change.
void RememberNowAndThen(const GalleryId& id, uint64_t generation);

}  // namespace heft

#endif  // HEFT_GALLERY_REMEMBERED_H_
