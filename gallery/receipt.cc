// SPDX-License-Identifier: Apache-2.0
#include "gallery/receipt.h"

#include "base/envelope.h"
#include "ckks/serialization.h"

namespace heft {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint64_t kMostItems = uint64_t{1} << 28;

}  // namespace

std::vector<uint8_t> SerializeReceiptFile(const Receipt& receipt) {
  ByteWriter writer;
  ckks::WriteId(writer, receipt.gallery);
  writer.U64(receipt.generation);
  writer.U64(receipt.removed);
  writer.U64(receipt.erased);
  writer.U64(receipt.items.size());
  for (const ReceiptRecord::Item& item : receipt.items) {
    ckks::WriteId(writer, item.person);
    writer.U32(item.templates);
  }
  return SealEnvelope(kReceiptKind, kVersion, writer.bytes());
}

absl::StatusOr<Receipt> ParseReceiptFile(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kReceiptKind, kVersion, what));
  ByteReader reader(payload, what);
  Receipt receipt;
  receipt.gallery = ckks::ReadId(reader);
  receipt.generation = reader.U64();
  receipt.removed = reader.U64();
  receipt.erased = reader.U64();
  receipt.items.resize(reader.Count(20, kMostItems));
  for (ReceiptRecord::Item& item : receipt.items) {
    item.person = ckks::ReadId(reader);
    item.templates = reader.U32();
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return receipt;
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
