// SPDX-License-Identifier: Apache-2.0
#include "gallery/unlisted.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

// The keys of a table that are deleted at once.
constexpr size_t kKeys = 4096;

// Returns whether there were any keys.
absl::StatusOr<bool> Clear(CheckedWriter& writer, Table table, uint32_t number) {
  std::vector<StoreKey> keys;
  bool any = false;
  do {
    keys.clear();
    HEFT_RETURN_IF_ERROR(writer.Scan(table, HeadKey(number), [&](ByteSpan key, ByteSpan) {
      if (!OfGallery(number, key)) return false;
      keys.emplace_back(key.begin(), key.end());
      return keys.size() < kKeys;
    }));
    for (const StoreKey& key : keys) HEFT_RETURN_IF_ERROR(writer.Delete(table, key));
    any = any || !keys.empty();
  } while (keys.size() == kKeys);
  return any;
}

// The number after the last one with a name.
absl::StatusOr<uint32_t> NextNumber(const StoreReader& reader) {
  uint32_t number = 1;
  HEFT_RETURN_IF_ERROR(reader.Scan(Table::kCatalog, {}, [&](ByteSpan, ByteSpan value) {
    number = std::max(number, ByteReader(value, "the catalogue").U32() + 1);
    return true;
  }));
  return number;
}

}  // namespace

absl::StatusOr<bool> DropUnlisted(CheckedWriter& writer) {
  const absl::Status catalogue = CheckCatalogue(writer.raw());
  if (absl::IsDataLoss(catalogue)) return false;  // the number may have a gallery
  HEFT_RETURN_IF_ERROR(catalogue);
  HEFT_ASSIGN_OR_RETURN(const uint32_t number, NextNumber(writer));
  bool any = false;
  for (size_t i = 1; i < kTables; ++i) {  // all but the catalogue
    HEFT_ASSIGN_OR_RETURN(const bool had, Clear(writer, static_cast<Table>(i), number));
    any = any || had;
  }
  return any;
}

absl::StatusOr<uint32_t> FreeNumber(CheckedWriter& writer) {
  HEFT_RETURN_IF_ERROR(CheckCatalogue(writer.raw()));
  HEFT_RETURN_IF_ERROR(DropUnlisted(writer).status());
  return NextNumber(writer);
}

absl::Status ListGallery(CheckedWriter& writer, const std::string& name, uint32_t number) {
  ByteWriter bytes;
  bytes.U32(number);
  return writer.Put(Table::kCatalog, AsBytes(name), bytes.bytes());
}

absl::Status CheckNotListed(const StoreReader& reader, const GalleryId& id,
                            const std::string& name) {
  std::vector<std::pair<std::string, uint32_t>> galleries;
  HEFT_RETURN_IF_ERROR(reader.Scan(Table::kCatalog, {}, [&](ByteSpan key, ByteSpan value) {
    galleries.emplace_back(std::string(key.begin(), key.end()),
                           ByteReader(value, "the catalogue").U32());
    return true;
  }));
  for (const auto& [listed, number] : galleries) {
    if (listed == name) {
      return absl::AlreadyExistsError(absl::StrCat("there is a gallery ", name, " already"));
    }
    HEFT_ASSIGN_OR_RETURN(const auto bytes, reader.Get(Table::kHead, HeadKey(number)));
    const auto head = bytes ? ParseHead(*bytes, "a gallery's head")
                            : absl::DataLossError("a gallery's head is missing");
    if (!head.ok() || head->id != id) continue;  // damage stops no other gallery
    return absl::AlreadyExistsError(absl::StrCat("this gallery exists already, as ", listed));
  }
  return absl::OkStatus();
}

absl::StatusOr<SteppedWriter> SteppedWriter::Begin(Store* store, const StoreLock* lock,
                                                   uint64_t step) {
  SteppedWriter out;
  out.store_ = store;
  out.lock_ = lock;
  out.step_ = step;
  HEFT_ASSIGN_OR_RETURN(out.writer_, WriteChecked(store, *lock));
  return out;
}

absl::Status SteppedWriter::Put(Table table, ByteSpan key, ByteSpan value) {
  HEFT_RETURN_IF_ERROR(writer_->Put(table, key, value));
  written_ += key.size() + value.size();
  if (written_ < step_) return absl::OkStatus();
  written_ = 0;
  HEFT_RETURN_IF_ERROR(writer_->Commit());
  writer_.reset();
  HEFT_ASSIGN_OR_RETURN(writer_, WriteChecked(store_, *lock_));
  return absl::OkStatus();
}

absl::Status SteppedWriter::Drop() {
  writer_.reset();
  HEFT_ASSIGN_OR_RETURN(writer_, WriteChecked(store_, *lock_));
  HEFT_RETURN_IF_ERROR(DropUnlisted(*writer_).status());
  return writer_->Commit();
}

}  // namespace heft
