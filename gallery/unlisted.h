// SPDX-License-Identifier: Apache-2.0
// Galleries that are made in several transactions, because they are too large for one. Their rows
// are under a number without a name in the catalogue until the last transaction names it. The next
// user of the number deletes the rows of an interrupted attempt.
#ifndef HEFT_GALLERY_UNLISTED_H_
#define HEFT_GALLERY_UNLISTED_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "gallery/checked_store.h"
#include "gallery/records.h"
#include "store/store.h"

namespace heft {

// kStepBytes: of a transaction, which is in memory until it is committed.
inline constexpr uint64_t kStepBytes = uint64_t{1} << 26;

// FreeNumber: a number without a gallery and without rows in the store. kDataLoss if a damaged
// catalogue hides which numbers have galleries. DropUnlisted: deletes the rows of such a number;
// false if it has none, or if the catalogue is damaged.
absl::StatusOr<uint32_t> FreeNumber(CheckedWriter& writer);
absl::StatusOr<bool> DropUnlisted(CheckedWriter& writer);
// ListGallery: gives a number a name.
absl::Status ListGallery(CheckedWriter& writer, const std::string& name, uint32_t number);
// CheckNotListed: kAlreadyExists where the store has a gallery of this id, or this name.
absl::Status CheckNotListed(const StoreReader& reader, const GalleryId& id,
                            const std::string& name);

// SteppedWriter: a writer that commits by itself when it has been given many bytes.
class SteppedWriter {
 public:
  // Both outlive it.
  static absl::StatusOr<SteppedWriter> Begin(Store* store, const StoreLock* lock,
                                             uint64_t step = kStepBytes);
  absl::Status Put(Table table, ByteSpan key, ByteSpan value);
  // Valid until the next Put.
  CheckedWriter& writer() { return *writer_; }
  absl::Status Commit() { return writer_->Commit(); }
  // Drop: all that was put under a number that has no name, committed or not.
  absl::Status Drop();

 private:
  Store* store_ = nullptr;
  const StoreLock* lock_ = nullptr;
  uint64_t step_ = 0, written_ = 0;
  std::unique_ptr<CheckedWriter> writer_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_UNLISTED_H_
