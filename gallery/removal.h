// SPDX-License-Identifier: Apache-2.0
// Removal: how a template leaves a gallery, and how blocks are renewed together with the key owner
// (docs/gallery.md, "Removal").
//
// While a template's entry is in the journal, its contribution is taken back bit for bit, by the
// server alone. Otherwise it leaves: it answers nobody from now on, and an exchange with the key
// owner makes its block anew without it.
#ifndef HEFT_GALLERY_REMOVAL_H_
#define HEFT_GALLERY_REMOVAL_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gallery/change.h"
#include "gallery/renewal.h"
#include "heft/removal.h"

namespace heft {

// kExchangeLife: seconds for which an answer of the key owner is waited for.
inline constexpr uint64_t kExchangeLife = 86400;
// MostRenewedAtOnce: blocks of one exchange: 64, or as many as a request of 256 MiB holds, but two,
// of which compaction makes one: 25 at 128 dimensions of profile thin, 3 at 1,024.
size_t MostRenewedAtOnce(const Instance& matching);

// RemovedPlaces: what became of them.
struct RemovedPlaces {
  size_t erased = 0;              // taken back, or their blocks are gone
  size_t leaving = 0;             // until their blocks are renewed
  std::vector<ErasedItem> items;  // of what is erased, also of who left before
};

// RemovePlaces: all those positions, at which templates stand. Open exchanges over their blocks are
// over. Folds first. A block in which nobody is left is dropped, whatever it holds of who has left.
// Of a damaged one, templates that are in no checkpoint are erased, the others leave.
absl::StatusOr<RemovedPlaces> RemovePlaces(GalleryChange* change, const Instance& instance,
                                           const ckks::EvaluationKeys& keys,
                                           std::span<const uint64_t> positions);

// PutReceipt: that these have gone with this change; to be called before its Commit.
absl::Status PutReceipt(GalleryChange* change, std::span<const ErasedItem> items);

// DueReceipts: of whom nobody has signed yet that they are gone.
absl::StatusOr<std::vector<ReceiptRecord>> DueReceipts(const GalleryChange& change);

// FinishReceipts: after Commit: overwrites what is left of what was deleted, and signs all receipts
// that are due; returns them, newest last.
absl::StatusOr<std::vector<std::vector<uint8_t>>> FinishReceipts(GalleryChange* change,
                                                                 const SigningKey& server);

// RemoveAt: as Remove (heft/removal.h), of the templates at these positions, where some stand; with
// `first` in the same change, also of a gallery that was set back.
absl::StatusOr<RemoveResult> RemoveAt(const Server& server, const std::string& gallery,
                                      std::span<const uint64_t> positions,
                                      const std::function<absl::Status(GalleryChange*)>& first);

// PlanRenewal: the blocks that templates leave, each to be renewed without them; if `compact`, also
// sparse blocks into few. Damaged blocks are left out. Empty where there is nothing to do.
struct RenewalPlan {
  std::vector<ExchangeRecord::Target> targets;
  std::vector<uint64_t> sources;  // blocks
};
absl::StatusOr<RenewalPlan> PlanRenewal(GalleryChange* change, const Instance& instance,
                                        bool compact);

// FinishRenewal: what the key owner answered takes the place of the sources. kFailedPrecondition
// for an answer to no exchange that is open.
struct FinishedRenewal {
  size_t blocks = 0;              // that were renewed
  size_t freed = 0;               // that hold nothing any more
  size_t moved = 0;               // templates
  std::vector<ErasedItem> items;  // of who has gone
};
absl::StatusOr<FinishedRenewal> FinishRenewal(GalleryChange* change, const Instance& instance,
                                              const Renewal& answer);

}  // namespace heft

#endif  // HEFT_GALLERY_REMOVAL_H_
