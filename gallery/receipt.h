// SPDX-License-Identifier: Apache-2.0
// Receipt (kind RCPT, signed by the server): who was erased, when, and the gallery and its
// generation. It names people by their ids, which reveal nothing to others. Format:
// docs/formats.md.
#ifndef HEFT_GALLERY_RECEIPT_H_
#define HEFT_GALLERY_RECEIPT_H_

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "gallery/records.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kReceiptKind = "RCPT";

// AddErased: adds one template. All of one person are one item.
void AddErased(std::vector<ErasedItem>* items, const PersonId& person, uint64_t removed,
               const HashedName& name);

// SignReceipt: of a record whose `erased` is set.
absl::StatusOr<std::vector<uint8_t>> SignReceipt(const SigningKey& server, const GalleryId& gallery,
                                                 const ReceiptRecord& record);
// Receipt: the contents of a receipt. Its signature is checked by OpenSigned (heft/trust.h).
struct Receipt {
  GalleryId gallery{};
  uint64_t generation = 0;
  uint64_t removed = 0, erased = 0;
  std::vector<ErasedItem> items;
};
// Version 2 has the times of items, version 1 does not.
std::vector<uint8_t> SerializeReceiptFile(const Receipt& receipt);
absl::StatusOr<Receipt> ParseReceiptFile(ByteSpan bytes, std::string_view what);

}  // namespace heft

#endif  // HEFT_GALLERY_RECEIPT_H_
