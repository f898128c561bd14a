// SPDX-License-Identifier: Apache-2.0
// Receipts that a server keeps outside the database and its backups. After the database goes back
// to an earlier state, they show who must be erased again. Path in the server's folder:
// receipts/GALLERY/GENERATION.receipt.
#ifndef HEFT_GALLERY_KEPT_RECEIPTS_H_
#define HEFT_GALLERY_KEPT_RECEIPTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "gallery/gallery_impl.h"
#include "gallery/records.h"

namespace heft {

// KeepReceipts: signed ones, with all that the gallery has where none are kept yet. Nothing for a
// gallery in a folder, whose receipts Restore takes over from the store that it replaces.
absl::Status KeepReceipts(const Gallery::Impl& gallery, std::span<const ReceiptRecord> receipts);
// HasKeptReceipts: whether those are kept that this server has signed of the gallery.
bool HasKeptReceipts(const Gallery::Impl& gallery);
// KeptReceipts: of all galleries, of a server's folder.
absl::StatusOr<std::vector<std::vector<uint8_t>>> KeptReceipts(const std::string& folder);

}  // namespace heft

#endif  // HEFT_GALLERY_KEPT_RECEIPTS_H_
