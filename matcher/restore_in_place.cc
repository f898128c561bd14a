// SPDX-License-Identifier: Apache-2.0
// A database that came back from its own backups (pg_restore, pgBackRest), or from a standby that
// lacked the last changes: its galleries are taken as they are, after who was erased since.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/gallery_copies.h"
#include "gallery/kept_receipts.h"
#include "gallery/remembered.h"
#include "matcher/restored_copy.h"

namespace heft {
namespace {

// InPlace: a gallery, and its remembered generation.
struct InPlace {
  std::string address;
  Age age;
  bool receipts = false;  // whether those that this server gave are known
};

absl::StatusOr<InPlace> LookAt(const std::string& address, std::span<const Receipt> receipts,
                               bool accept_older) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, Gallery::Impl::Open(address));
  InPlace out = {address, {"", gallery.generation()}, HasKeptReceipts(gallery)};
  uint64_t& newest = out.age.newest_before;
  HEFT_ASSIGN_OR_RETURN(const auto remembered, RememberedGeneration(gallery.id()));
  newest = std::max(newest, remembered.value_or(0));
  for (const Receipt& receipt : receipts) {
    if (receipt.gallery == gallery.id()) newest = std::max(newest, receipt.generation);
  }
  if (newest > gallery.generation() || accept_older) {
    out.age.older = absl::StrCat(address, " is at generation ", gallery.generation(),
                                 " in the database, but had reached ", newest);
  }
  // What others, with state folders of their own, have come to is not known here.
  newest += kUnknownAhead;
  return out;
}

absl::Status CheckAccepted(const std::vector<InPlace>& galleries, const RestoreOptions& options) {
  for (const InPlace& gallery : galleries) {
    if (gallery.age.older.empty()) continue;
    if (!options.accept_older) {
      return absl::FailedPreconditionError(
          absl::StrCat(gallery.age.older,
                       ": later changes are lost. To accept that, give --accept-older; people who "
                       "were erased since are then removed again"));
    }
    if (gallery.receipts || !options.receipts.empty() || options.without_receipts) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the receipts of people who were erased from ", gallery.address,
                     " since are not here: give them (--receipts), or accept the database without "
                     "them (--receipts none)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RestoreResult> RestoreInPlace(const Address& address, const RestoreOptions& given) {
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(address.store, StoreMode::kWrite));
  HEFT_RETURN_IF_ERROR(store->Check());
  RestoreOptions options = given;
  HEFT_ASSIGN_OR_RETURN(auto kept, KeptReceipts(address.folder));
  for (auto& receipt : kept) options.receipts.push_back(std::move(receipt));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Receipt> receipts,
                        ReadReceipts({address.folder}, options.trust, options.receipts));
  std::vector<std::string> names;
  {
    HEFT_ASSIGN_OR_RETURN(const auto reader, ReadChecked(*store));
    HEFT_ASSIGN_OR_RETURN(names, StoreNames(*reader));
  }
  std::vector<InPlace> galleries;
  for (const std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(InPlace gallery, LookAt(absl::StrCat(address.store, ":", name), receipts,
                                                  options.accept_older));
    galleries.push_back(std::move(gallery));
  }
  HEFT_RETURN_IF_ERROR(CheckAccepted(galleries, given));
  RestoreResult result;
  for (const InPlace& gallery : galleries) {
    if (!gallery.age.older.empty()) {
      HEFT_RETURN_IF_ERROR(MakeOlder(gallery.address, gallery.age, {}, receipts, options, &result));
      result.older = true;
    }
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl now, Gallery::Impl::Open(gallery.address));
    result.galleries.push_back({now.address().name, now.id(), now.generation()});
  }
  return result;
}

}  // namespace heft
