// SPDX-License-Identifier: Apache-2.0
// Removal: how a template leaves a gallery, and how blocks are renewed together with the key owner
// (docs/gallery.md, "Removal").
//
// While a template's entry is in the journal, the server alone can take its contribution back, bit
// for bit. Otherwise the template is leaving: it is no longer matched, and an exchange with the key
// owner renews its block without it.
#ifndef HEFT_GALLERY_REMOVAL_H_
#define HEFT_GALLERY_REMOVAL_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gallery/change.h"
#include "gallery/renewal.h"
#include "heft/gallery_admin.h"

namespace heft {

// kExchangeLife: how long the server waits for the key owner's answer, in seconds.
inline constexpr uint64_t kExchangeLife = 86400;
// MostRenewedAtOnce: blocks of one exchange: 64, or as many as fit into a request of 256 MiB (25 at
// 128 dimensions of profile standard, 3 at 1,024). At least two, so that compaction can join them.
size_t MostRenewedAtOnce(const Instance& matching);

// RemovedPlaces: what became of the templates.
struct RemovedPlaces {
  size_t erased = 0;              // taken back, or their blocks are gone
  size_t leaving = 0;             // erased when their blocks are renewed
  std::vector<ErasedItem> items;  // all erased, including people who left before
};

// RemovePlaces: removes the templates at these positions; each must have one. Folds first, and ends
// open exchanges over their blocks. A block without other templates is dropped, with all
// ciphertexts of leaving ones. In a damaged block, templates that are in no checkpoint are erased;
// the others are leaving.
absl::StatusOr<RemovedPlaces> RemovePlaces(GalleryChange* change, const Instance& instance,
                                           const ckks::EvaluationKeys& keys,
                                           std::span<const uint64_t> positions);

// PutReceipt: records that this change removed these items. Call it before Commit.
absl::Status PutReceipt(GalleryChange* change, std::span<const ErasedItem> items);

// DueReceipts: the receipts that are not signed yet.
absl::StatusOr<std::vector<ReceiptRecord>> DueReceipts(const GalleryChange& change);

// FinishReceipts: call it after Commit. It overwrites deleted data, signs all due receipts, and
// returns them, newest last.
absl::StatusOr<std::vector<std::vector<uint8_t>>> FinishReceipts(
    GalleryChange* change, const SigningKey& server, absl::Duration wait = WriterWait());

// RemoveAt: as Remove (heft/gallery_admin.h), for the templates at those of these positions that
// have one. `first` is called first, in the same change. Works also for a gallery that was set
// back.
absl::StatusOr<RemoveResult> RemoveAt(const Server& server, const std::string& gallery,
                                      std::span<const uint64_t> positions,
                                      const std::function<absl::Status(GalleryChange*)>& first);

// PlanRenewal: the blocks with leaving templates, each to renew without these. With `compact`, it
// also joins sparse blocks. Damaged blocks are left out. Empty if nothing needs renewal.
struct RenewalPlan {
  std::vector<ExchangeRecord::Target> targets;
  std::vector<uint64_t> sources;  // blocks
};
absl::StatusOr<RenewalPlan> PlanRenewal(GalleryChange* change, const Instance& instance,
                                        bool compact);

// FinishRenewal: replaces the sources by the key owner's answer. kFailedPrecondition if the answer
// belongs to no open exchange.
struct FinishedRenewal {
  size_t blocks = 0;              // that were renewed
  size_t freed = 0;               // that contain nothing any more
  size_t moved = 0;               // templates
  std::vector<ErasedItem> items;  // people who have gone
};
absl::StatusOr<FinishedRenewal> FinishRenewal(GalleryChange* change, const Instance& instance,
                                              const Renewal& answer);

}  // namespace heft

#endif  // HEFT_GALLERY_REMOVAL_H_
