// SPDX-License-Identifier: Apache-2.0
#include "gallery/gallery_impl.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/files.h"
#include "base/status.h"
#include "gallery/merkle.h"
#include "gallery/remembered.h"

namespace heft {
Gallery::Impl Gallery::Impl::New(const std::string& address, const GalleryBinding& binding) {
  Impl gallery;
  const auto parsed = ParseAddress(address);
  gallery.address_ = parsed.ok() ? *parsed : Address{address, std::string(kDefaultName)};
  gallery.head_.binding = binding;
  gallery.head_.root = MerkleRoot(0, {});
  gallery.cache_ = std::make_shared<GalleryCache>();
  Csprng().Fill(gallery.head_.id);
  return gallery;
}

bool Gallery::Impl::Exists(const std::string& address) { return Open(address).ok(); }

absl::Status Gallery::Impl::CheckVacant(const std::string& address) {
  HEFT_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  std::error_code ignored;
  if (FileExists(parsed.folder) && !std::filesystem::is_directory(parsed.folder, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(parsed.folder, " is a file: give a folder"));
  }
  if (!StoreExists(parsed.at()) && FileExists(parsed.folder + "/server.key")) {
    return OfStore(absl::DataLossError(
        absl::StrCat("gallery ", parsed.at(),
                     ": it has its server's key, but no store: restore the store (`heft-server "
                     "gallery restore`), or choose another folder")));
  }
  return absl::OkStatus();
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Open(const std::string& address) {
  HEFT_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  if (!StoreExists(parsed.at())) {
    return absl::NotFoundError(
        absl::StrCat("there is no gallery in ", parsed.at(),
                     ": enrol a person, or give the folder that holds store.sqlite"));
  }
  HEFT_ASSIGN_OR_RETURN(std::shared_ptr<Store> store, OpenStore(parsed.at(), StoreMode::kRead));
  return Open(std::move(store), parsed);
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Open(std::shared_ptr<Store> store,
                                                  const Address& address) {
  Impl gallery;
  gallery.address_ = address;
  gallery.store_ = std::move(store);
  gallery.cache_ = std::make_shared<GalleryCache>();
  HEFT_RETURN_IF_ERROR(gallery.Load());
  return gallery;
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Newest() const {
  if (store_ == nullptr) return Open(address_.at() + ":" + address_.name);
  Impl gallery;
  gallery.address_ = address_;
  gallery.store_ = store_;
  // A snapshot may have replaced the store; the generations of the two differ.
  if (StoreExists(address_.at())) {
    HEFT_ASSIGN_OR_RETURN(gallery.store_, OpenStore(address_.at(), StoreMode::kRead));
  }
  gallery.cache_ = cache_;
  HEFT_RETURN_IF_ERROR(gallery.Load());
  return gallery;
}

Gallery::Impl Gallery::Impl::Unread() const {
  Impl gallery;
  gallery.address_ = address_;
  gallery.number_ = number_;
  gallery.store_ = store_;
  gallery.head_ = head_;
  gallery.set_back_ = set_back_;
  gallery.cache_ = cache_;
  return gallery;
}

std::string Gallery::Impl::What() const {
  return absl::StrCat("gallery ", address_.at(),
                      address_.name == kDefaultName ? "" : absl::StrCat(":", address_.name));
}

absl::Status Gallery::Impl::Load() {
  HEFT_RETURN_IF_ERROR(OfStore(LoadState()));
  // For a folder, Restore detects an older state. A database can be restored without Restore.
  if (address_.store.empty() || !store_->Final()) return absl::OkStatus();
  const GalleryId id = head_.id;
  const auto remembered = RememberedGeneration(id);
  set_back_ = remembered.status();
  if (!remembered.ok() || remembered->value_or(0) <= head_.generation) return absl::OkStatus();
  // Another process may have changed it meanwhile. Reads from here on are at least as new as the
  // remembered generation.
  infos_.clear();
  pending_.clear();
  HEFT_RETURN_IF_ERROR(OfStore(LoadState()));
  if (head_.id != id || **remembered <= head_.generation) return absl::OkStatus();
  set_back_ = absl::FailedPreconditionError(absl::StrCat(
      What(), " is at generation ", head_.generation, ", but had reached ", **remembered,
      ": its database went back to an earlier state. To accept this state, which repeats the "
      "erasures since, run heft-server gallery restore --gallery ",
      address_.store, " --accept-older; until then it cannot be changed, and no reply is signed"));
  return absl::OkStatus();
}

absl::Status Gallery::Impl::LoadState() {
  HEFT_ASSIGN_OR_RETURN(std::unique_ptr<CheckedReader> reader,
                        ReadChecked(*store_, cache_->records()));
  reader_ = std::move(reader);
  HEFT_ASSIGN_OR_RETURN(const auto entry, reader_->Get(Table::kCatalog, AsBytes(address_.name)));
  if (!entry) {
    HEFT_RETURN_IF_ERROR(CheckCatalogue(reader_->raw()));
    return absl::NotFoundError(absl::StrCat("there is no ", What()));
  }
  ByteReader number(*entry, What());
  number_ = number.U32();
  HEFT_RETURN_IF_ERROR(number.Finish());
  HEFT_ASSIGN_OR_RETURN(const auto head, reader_->Get(Table::kHead, HeadKey(number_)));
  if (!head) return absl::DataLossError(absl::StrCat(What(), ": its head is missing"));
  HEFT_ASSIGN_OR_RETURN(head_, ParseHead(*head, What()));
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      reader_->Scan(Table::kBlockInfo, InfoKey(number_, 0), [&](ByteSpan key, ByteSpan value) {
        if (key.size() != InfoKey(number_, 0).size() || !OfGallery(number_, key) || key[4] != 'i') {
          return false;
        }
        auto info = ParseBlockInfo(value, What());
        if (NumberOf(key) != infos_.size()) info = absl::DataLossError("a block is missing");
        status = info.status();
        if (status.ok()) infos_.push_back(*info);
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  HEFT_RETURN_IF_ERROR(CheckBlockCount(head_.block_places));
  return LoadPending();
}

// An entry that is unreadable or has no valid place is missing in its block, which reports it
// (Block).
absl::Status Gallery::Impl::LoadPending() {
  return reader_->Scan(
      Table::kJournal, NumberKey(number_, head_.folded + 1), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto entry = ParseEntry(value, What());
        // The bytes of a short value do not stay; no ciphertext is so short.
        const bool stays = value.size() >= kLongValue;
        if (entry.ok() && entry->position < head_.places && (stays || entry->fused.empty())) {
          pending_.push_back({NumberOf(key), *entry});
        }
        return true;
      });
}

absl::Status Gallery::Impl::CheckBlockCount(uint32_t block_places) const {
  const uint64_t needed = head_.places == 0 ? 0 : (head_.places + block_places - 1) / block_places;
  if (blocks() == needed && (head_.places == 0 || block_places == head_.block_places)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(What(), ": has ", head_.places, " places in ", blocks(),
                                          " blocks of ", head_.block_places));
}

absl::Status Gallery::Impl::CheckFits(const Instance& instance,
                                      const GalleryBinding& binding) const {
  HEFT_RETURN_IF_ERROR(CheckBinding(binding));
  return CheckBlockCount(2 * instance.params().slots());
}

}  // namespace heft
