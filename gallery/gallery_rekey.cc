// SPDX-License-Identifier: Apache-2.0
// A gallery's move to another key: block by block into a new epoch, so that few blocks are in
// memory at a time. Writing the head completes the move.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "fusion/key_files.h"
#include "fusion/rekey.h"
#include "gallery/change.h"

namespace heft {
namespace {

constexpr size_t kBlocksATransaction = 16;

// Deletes all of this gallery's entries in a table.
absl::Status Clear(GalleryChange* change, Table table) {
  std::vector<StoreKey> keys;
  HEFT_RETURN_IF_ERROR(
      change->writer().Scan(table, HeadKey(change->number()), [&](ByteSpan key, ByteSpan) {
        if (!OfGallery(change->number(), key)) return false;
        keys.emplace_back(key.begin(), key.end());
        return true;
      }));
  for (const StoreKey& key : keys) HEFT_RETURN_IF_ERROR(change->writer().Delete(table, key));
  return absl::OkStatus();
}

absl::Status CheckRekeyable(const Gallery::Impl& gallery, const RekeyingKey& key) {
  if (gallery.binding().key_id == key.to) {
    return absl::FailedPreconditionError(absl::StrCat(
        gallery.address().at(), " has moved to key ", HexString(key.to),
        " before. `heft-server gallery compact` erases what is left under the old key"));
  }
  HEFT_RETURN_IF_ERROR(CheckKeyId(gallery.binding().key_id, key.from, "the re-keying key"));
  if (std::ranges::count(gallery.revoked_keys(), key.to) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the re-keying key leads back to key ", HexString(key.to),
                     ", which was revoked: make a new one with `heft rekey`"));
  }
  HEFT_ASSIGN_OR_RETURN(const auto pending, gallery.PendingEnrolments());
  if (!pending.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "enrolments are pending in ", gallery.address().at(),
        " under the old key: approve or reject them first (heft-server pending, heft answer)"));
  }
  if (gallery.pending() > 0) {
    return absl::FailedPreconditionError(
        "some enrolments under the old key are only in the gallery's journal: fold them first "
        "(`heft-server gallery compact`). Remove those of a damaged block, or restore the block "
        "from a snapshot");
  }
  return absl::OkStatus();
}

// Writes blocks under the new key beside the old ones. Returns their infos.
absl::StatusOr<std::vector<BlockInfo>> RekeyBlocks(
    GalleryChange* change, const Instance& instance, const RekeyingKey& key, uint32_t epoch,
    const std::function<bool(size_t, size_t)>& progress) {
  std::vector<BlockInfo> renewed = change->infos();
  const ErrorCosts costs = ErrorCostsOf(instance);
  for (size_t block = 0; block < renewed.size(); ++block) {
    if (progress && !progress(block, renewed.size())) return absl::CancelledError("interrupted");
    if (renewed[block].checkpoint == Digest{}) continue;
    HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, change->ReadCheckpoint(instance, block));
    HEFT_RETURN_IF_ERROR(RekeyBlock(instance, &data, key.key));
    BlockHeader header;
    header.block = block;
    header.generation = change->head().generation + 1;
    header.gamma = change->head().binding.gamma;
    header.checksum = FastChecksum(
        {reinterpret_cast<const uint8_t*>(data.data()), data.size() * sizeof(uint32_t)});
    header.hash = ResiduesHash(data);
    renewed[block].checkpoint = header.hash;
    renewed[block].generation = header.generation;
    renewed[block].error.added += costs.rekeying;
    HEFT_RETURN_IF_ERROR(change->writer().Put(
        Table::kBlocks, BlockKey(change->number(), epoch, block), SerializeBlock(header, data)));
    // The head and the blocks' infos have not changed yet.
    if ((block + 1) % kBlocksATransaction == 0) HEFT_RETURN_IF_ERROR(change->CommitAndGoOn());
  }
  if (progress && !progress(renewed.size(), renewed.size())) {
    return absl::CancelledError("interrupted");
  }
  return renewed;
}

absl::Status MoveToKey(const Gallery::Impl& gallery, const Instance& instance,
                       const RekeyingKey& key,
                       const std::function<bool(size_t, size_t)>& progress) {
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(gallery, /*start=*/false));
  HEFT_RETURN_IF_ERROR(CheckRekeyable(change.before(), key));
  // Removes the remains of an earlier attempt.
  HEFT_RETURN_IF_ERROR(change.DropOtherEpochs());
  const uint32_t epoch = change.head().epoch + 1;
  HEFT_ASSIGN_OR_RETURN(const std::vector<BlockInfo> renewed,
                        RekeyBlocks(&change, instance, key, epoch, progress));
  change.head().epoch = epoch;
  change.head().binding.key_id = key.to;
  change.head().revoked.push_back(key.from);
  change.head().key_since = change.now();
  // These are under the old key: they could not be taken back any more.
  HEFT_RETURN_IF_ERROR(Clear(&change, Table::kJournal));
  HEFT_RETURN_IF_ERROR(Clear(&change, Table::kFolds));
  HEFT_RETURN_IF_ERROR(Clear(&change, Table::kExchanges));
  change.head().retired = change.head().folded;
  change.head().entry_bytes = 0;
  for (size_t block = 0; block < renewed.size(); ++block) change.SetInfo(block, renewed[block]);
  change.Touch();
  HEFT_RETURN_IF_ERROR(change.Commit());
  const absl::Status erased = change.EraseRemains();
  if (erased.ok()) return erased;
  return absl::Status(erased.code(),
                      absl::StrCat("the gallery has moved to key ", HexString(key.to),
                                   ", but data under the old key is still in its files: ",
                                   erased.message(), "; `heft-server gallery compact` erases it"));
}

}  // namespace

// Keys are ordered by gallery, epoch and block.
absl::Status GalleryChange::DropOtherEpochs() {
  const StoreKey own = BlockKey(number_, head_.epoch, 0);
  for (const StoreKey& from : {HeadKey(number_), BlockKey(number_, head_.epoch + 1, 0)}) {
    for (;;) {
      std::vector<StoreKey> stale;
      HEFT_RETURN_IF_ERROR(writer_->Scan(Table::kBlocks, from, [&](ByteSpan key, ByteSpan) {
        const bool others =
            OfGallery(number_, key) && !std::ranges::equal(key.first(8), std::span(own).first(8));
        if (others) stale.emplace_back(key.begin(), key.end());
        return others && stale.size() < kBlocksATransaction;
      }));
      if (stale.empty()) break;
      for (const StoreKey& key : stale) {
        HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kBlocks, key));
      }
      HEFT_RETURN_IF_ERROR(CommitAndGoOn());
    }
  }
  return absl::OkStatus();
}

absl::Status RekeyGallery(Gallery::Impl* gallery, const Instance& instance, const RekeyingKey& key,
                          const std::function<bool(size_t, size_t)>& progress) {
  HEFT_RETURN_IF_ERROR(CheckRekeyable(*gallery, key));
  // Erasing waits for all holders of the earlier state.
  *gallery = gallery->Unread();
  const absl::Status moved = MoveToKey(*gallery, instance, key, progress);
  HEFT_ASSIGN_OR_RETURN(*gallery, gallery->Newest());
  return moved;
}

}  // namespace heft
