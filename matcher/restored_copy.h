// SPDX-License-Identifier: Apache-2.0
// An older copy of a gallery that replaces a newer one (heft/gallery_admin.h, Restore). Erasures
// still apply.
#ifndef HEFT_MATCHER_RESTORED_COPY_H_
#define HEFT_MATCHER_RESTORED_COPY_H_

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

// kUnknownAhead: by how many generations a gallery may have been ahead of its copy, if no
// generation is remembered.
inline constexpr uint64_t kUnknownAhead = uint64_t{1} << 32;

// Age: of a gallery in a copy.
struct Age {
  std::string older;           // why it is older, or may be; empty: it is not
  uint64_t newest_before = 0;  // the latest possible generation
};

// ReadReceipts: receipts signed by a server of these folders, or by a trusted one.
absl::StatusOr<std::vector<Receipt>> ReadReceipts(const std::vector<std::string>& folders,
                                                  const Trust* trusted,
                                                  const std::vector<std::vector<uint8_t>>& files);

// MakeOlder: prepares an older copy to replace the gallery, in one change. It erases again everyone
// who was erased since, rejects pending enrolments, and sets a generation that did not exist
// before. `receipts`: the parsed options.receipts.
absl::Status MakeOlder(const std::string& address, const Age& age, const Replaced& replaced,
                       std::span<const Receipt> receipts, const RestoreOptions& options,
                       RestoreResult* result);

// RestoreInPlace: for a database that was restored from a backup.
absl::StatusOr<RestoreResult> RestoreInPlace(const Address& address, const RestoreOptions& options);

}  // namespace heft

#endif  // HEFT_MATCHER_RESTORED_COPY_H_
