// SPDX-License-Identifier: Apache-2.0
// An older copy of a gallery that takes the place of a newer one (heft/gallery_admin.h, Restore):
// erasure goes before it.
#ifndef HEFT_GALLERY_RESTORED_COPY_H_
#define HEFT_GALLERY_RESTORED_COPY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "gallery/gallery_impl.h"
#include "gallery/receipt.h"
#include "gallery/replaced.h"
#include "heft/gallery_admin.h"

namespace heft {

// kUnknownAhead: by how many generations a gallery of which nothing is remembered may have been
// ahead of its copy.
inline constexpr uint64_t kUnknownAhead = uint64_t{1} << 32;

// Age: of a gallery in a copy.
struct Age {
  std::string older;           // why it is, or may be; empty: it is not
  uint64_t newest_before = 0;  // generation that may have been
};

// ReadReceipts: files that a server of these folders signed, or one that is trusted.
absl::StatusOr<std::vector<Receipt>> ReadReceipts(const std::vector<std::string>& folders,
                                                  const Trust* trusted,
                                                  const std::vector<std::vector<uint8_t>>& files);

// MakeOlder: an older copy fit to take the place of the gallery, in one change: whoever was erased
// since is erased again, nobody waits, and its generation is one that there never was. `receipts`:
// what options.receipts say.
absl::Status MakeOlder(const std::string& address, const Age& age, const Replaced& replaced,
                       std::span<const Receipt> receipts, const RestoreOptions& options,
                       RestoreResult* result);

// RestoreInPlace: of a database, which came back without us.
absl::StatusOr<RestoreResult> RestoreInPlace(const Address& address, const RestoreOptions& options);

}  // namespace heft

#endif  // HEFT_GALLERY_RESTORED_COPY_H_
