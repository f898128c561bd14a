// SPDX-License-Identifier: Apache-2.0
#include "gallery/receipt.h"

#include <algorithm>

#include "base/envelope.h"
#include "ckks/serialization.h"

namespace heft {
namespace {

constexpr uint32_t kPlainVersion = 1, kTimesVersion = 2;

}  // namespace

std::vector<uint8_t> SerializeReceiptFile(const Receipt& receipt) {
  ByteWriter writer;
  ckks::WriteId(writer, receipt.gallery);
  writer.U64(receipt.generation);
  WriteErased(writer, receipt.removed, receipt.erased, receipt.items);
  return SealEnvelope(kReceiptKind, HaveTimes(receipt.items) ? kTimesVersion : kPlainVersion,
                      writer.bytes());
}

absl::StatusOr<Receipt> ParseReceiptFile(ByteSpan bytes, std::string_view what) {
  const bool plain = EnvelopeVersion(bytes) == kPlainVersion;
  HEFT_ASSIGN_OR_RETURN(
      const ByteSpan payload,
      OpenEnvelope(bytes, kReceiptKind, plain ? kPlainVersion : kTimesVersion, what));
  ByteReader reader(payload, what);
  Receipt receipt;
  receipt.gallery = ckks::ReadId(reader);
  receipt.generation = reader.U64();
  ReadErased(reader, !plain, &receipt.removed, &receipt.erased, &receipt.items);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return receipt;
}

void AddErased(std::vector<ErasedItem>* items, const PersonId& person, uint64_t removed,
               const HashedName& name) {
  const auto known = std::ranges::find(*items, person, &ErasedItem::person);
  if (known == items->end()) {
    items->push_back({person, 1, removed, name});
  } else {
    ++known->templates;
    known->removed = std::max(known->removed, removed);
  }
}

absl::StatusOr<std::vector<uint8_t>> SignReceipt(const SigningKey& server, const GalleryId& gallery,
                                                 const ReceiptRecord& record) {
  Statement statement;
  statement.role = Role::kServer;
  statement.gallery = gallery;
  statement.generation = record.generation;
  return server.Sign(statement, SerializeReceiptFile({gallery, record.generation, record.removed,
                                                      record.erased, record.items}));
}

}  // namespace heft
