// SPDX-License-Identifier: Apache-2.0
#include "gallery/replaced.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gallery/change.h"
#include "gallery/gallery_copies.h"
#include "gallery/receipt.h"
#include "heft/trust.h"
#include "store/folder.h"

namespace heft {
namespace {

void Note(absl::Status* first, const absl::Status& status) {
  if (first->ok()) *first = status;
}

// A gallery's number, from the catalogue.
absl::StatusOr<uint32_t> NumberOf(const StoreReader& reader, const std::string& name) {
  HEFT_ASSIGN_OR_RETURN(const auto value, reader.Get(Table::kCatalog, AsBytes(name)));
  if (!value) return absl::DataLossError("the catalogue does not list it");
  ByteReader bytes(*value, "the catalogue");
  const uint32_t number = bytes.U32();
  HEFT_RETURN_IF_ERROR(bytes.Finish());
  return number;
}

absl::Status ReadReceipts(const StoreReader& reader, uint32_t number, ReplacedGallery* out) {
  absl::Status damage;
  Note(&damage,
       reader.Scan(Table::kReceipts, NumberKey(number, 0), [&](ByteSpan key, ByteSpan value) {
         if (!OfGallery(number, key)) return false;
         auto record = ParseReceipt(value, "the gallery's receipts");
         Note(&damage, record.status());
         if (record.ok()) out->receipts.push_back(*std::move(record));
         return true;
       }));
  return damage;
}

absl::Status ReadLeaving(const StoreReader& reader, uint32_t number, ReplacedGallery* out) {
  if (out->head && out->head->leaving == 0) return absl::OkStatus();
  absl::Status damage;
  Note(&damage,
       reader.Scan(Table::kRoster, NumberKey(number, 0), [&](ByteSpan key, ByteSpan value) {
         if (!OfGallery(number, key)) return false;
         const auto run = ParseRun(value, "the gallery's roster");
         Note(&damage, run.status());
         if (!run.ok()) return true;
         for (const Resident& r : *run) {
           if (r.state != PlaceState::kLeaving) continue;
           out->leaving.push_back({r.person, 1, r.left, r.name});
         }
         return true;
       }));
  if (out->head && out->leaving.size() < out->head->leaving) {
    Note(&damage, absl::DataLossError("its roster lacks some of the templates that leave it"));
  }
  return damage;
}

// The id from its head, or from a receipt of its server.
std::optional<GalleryId> IdOf(const ReplacedGallery& gallery) {
  if (gallery.head) return gallery.head->id;
  for (const ReceiptRecord& record : gallery.receipts) {
    const auto file = ReadSigned(record.receipt, "a receipt");
    if (!file.ok()) continue;
    const auto receipt = ParseReceiptFile(file->file, "a receipt");
    if (receipt.ok()) return receipt->gallery;
  }
  return std::nullopt;
}

// Damage in a gallery must not hide erasures, neither in another gallery nor in itself.
void LookAtGallery(const std::shared_ptr<Store>& store, const StoreReader& reader,
                   const std::string& folder, const std::string& name, Replaced* replaced) {
  ReplacedGallery gallery;
  gallery.name = name;
  auto opened = Gallery::Impl::Open(store, {folder, name});
  Note(&replaced->damaged, opened.status());
  if (opened.ok()) gallery.impl.emplace(*std::move(opened));
  const auto number = NumberOf(reader, name);
  if (!number.ok()) return Note(&replaced->unread, number.status());
  const auto head = reader.Get(Table::kHead, HeadKey(*number));
  if (head.ok() && *head) {
    auto parsed = ParseHead(**head, "the gallery's head");
    if (parsed.ok()) gallery.head = *std::move(parsed);
  }
  Note(&gallery.unread, ReadReceipts(reader, *number, &gallery));
  Note(&gallery.unread, ReadLeaving(reader, *number, &gallery));
  const auto id = IdOf(gallery);
  if (id) {
    replaced->galleries.emplace(*id, std::move(gallery));
  } else {
    Note(&replaced->unread,
         absl::DataLossError(absl::StrCat("the id of gallery ", name, " cannot be read")));
  }
}

bool AreDue(const Replaced& replaced) {
  for (const auto& [id, gallery] : replaced.galleries) {
    for (const ReceiptRecord& record : gallery.receipts) {
      if (record.erased == 0) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Replaced> LookAtReplaced(const std::string& folder) {
  Replaced replaced;
  replaced.there = StoreExists(folder);
  const auto lock_folder = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(FileLock lock, LockStore(folder, WriterWait()));
    replaced.folder_lock.emplace(std::move(lock));
    return absl::OkStatus();
  };
  if (!replaced.there) {
    if (FileExists(folder)) HEFT_RETURN_IF_ERROR(lock_folder());
    return replaced;
  }
  const auto store = OpenStore(folder, StoreMode::kWrite);
  if (!store.ok()) {
    if (!absl::IsDataLoss(store.status())) return store.status();
    replaced.damaged = replaced.unread = store.status();
    HEFT_RETURN_IF_ERROR(lock_folder());
    return replaced;
  }
  auto lock = (*store)->Lock(WriterWait());
  if (absl::IsDataLoss(lock.status())) {
    replaced.damaged = replaced.unread = lock.status();
    HEFT_RETURN_IF_ERROR(lock_folder());
    return replaced;
  }
  HEFT_ASSIGN_OR_RETURN(replaced.lock, std::move(lock));
  const auto reader = ReadChecked(**store);
  const auto names = reader.ok() ? StoreNames(**reader) : reader.status();
  if (!names.ok()) {
    replaced.damaged = replaced.unread = names.status();
    return replaced;
  }
  for (const std::string& name : *names) {
    LookAtGallery(*store, **reader, folder, name, &replaced);
  }
  // A reader of an older state may prevent it. Then the data goes with the store's file.
  if (AreDue(replaced)) (*store)->Scrub(*replaced.lock, WriterWait()).IgnoreError();
  return replaced;
}

}  // namespace heft
