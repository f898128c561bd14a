// SPDX-License-Identifier: Apache-2.0
// The generations of galleries that this user's state folder remembers. They reveal an older copy
// even if nothing else is left (docs/gallery.md, "Commands").
#ifndef HEFT_GALLERY_REMEMBERED_H_
#define HEFT_GALLERY_REMEMBERED_H_

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "heft/trust.h"

namespace heft {

// kRememberedEvery: a gallery may be ahead of its remembered generation by less than this.
// kRememberedSeconds: a generation that is this much older than the last change is remembered.
// Erasures are remembered at once.
inline constexpr uint64_t kRememberedEvery = 64;
inline constexpr uint64_t kRememberedSeconds = 10;

// RememberedGeneration: the remembered generation of a gallery, if any. kDataLoss, kUnavailable.
absl::StatusOr<std::optional<uint64_t>> RememberedGeneration(const GalleryId& id);
// RememberGeneration: writes it at once. It never decreases. Any number of threads and processes.
absl::Status RememberGeneration(const GalleryId& id, uint64_t generation);
// RememberNowAndThen: call it after a change of a gallery. The first call of a process reads a
// file; later calls seldom do. If writing fails, a later change tries again.
void RememberNowAndThen(const GalleryId& id, uint64_t generation);

}  // namespace heft

#endif  // HEFT_GALLERY_REMEMBERED_H_
