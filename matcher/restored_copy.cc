// SPDX-License-Identifier: Apache-2.0
#include "matcher/restored_copy.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/change.h"
#include "gallery/removal.h"
#include "heft/trust.h"

namespace heft {
namespace {

// The servers whose receipts are accepted: those of the folders, and the trusted ones.
absl::StatusOr<Trust> ReceiptSigners(std::span<const std::string> folders, const Trust* trusted) {
  Trust signers;
  const auto add = [&](const SignerKey& key) -> absl::Status {
    if (trusted != nullptr && trusted->IsRevoked(key)) return absl::OkStatus();
    const absl::Status added = signers.Add(Role::kServer, HexString(key).substr(0, 16), key);
    return absl::IsAlreadyExists(added) ? absl::OkStatus() : added;
  };
  for (const std::string& folder : folders) {
    const auto text = ReadTextFile(folder + "/server.pub");
    if (absl::IsNotFound(text.status())) continue;
    HEFT_RETURN_IF_ERROR(text.status());
    HEFT_ASSIGN_OR_RETURN(const SignerKey key, ParseSignerKey(*text));
    HEFT_RETURN_IF_ERROR(add(key));
  }
  if (trusted != nullptr) {
    for (const Trust::Key& key : trusted->keys(Role::kServer)) {
      HEFT_RETURN_IF_ERROR(add(key.key));
    }
  }
  return signers;
}

}  // namespace

absl::StatusOr<std::vector<Receipt>> ReadReceipts(const std::vector<std::string>& folders,
                                                  const Trust* trusted,
                                                  const std::vector<std::vector<uint8_t>>& files) {
  HEFT_ASSIGN_OR_RETURN(const Trust signers, ReceiptSigners(folders, trusted));
  if (!files.empty() && !signers.Lists(Role::kServer)) {
    return absl::FailedPreconditionError(
        "the receipts cannot be checked, because neither the folder nor the snapshot has the "
        "server's public key (server.pub): give a trust file that lists the server");
  }
  std::vector<Receipt> receipts;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string what = absl::StrCat("receipt ", i + 1);
    HEFT_ASSIGN_OR_RETURN(
        const SignedFile file,
        OpenSigned(files[i], signers, {.roles = {Role::kServer}, .kind = std::string(kReceiptKind)},
                   what));
    HEFT_ASSIGN_OR_RETURN(Receipt receipt, ParseReceiptFile(file.file, what));
    if (receipt.gallery != file.statement.gallery) {
      return absl::DataLossError(
          absl::StrCat(what, ": is of another gallery than its signature says"));
    }
    receipts.push_back(std::move(receipt));
  }
  return receipts;
}

namespace {

// Erased: the erased people of one gallery, who must not return, and all known receipts.
struct Erased {
  std::set<PersonId> persons;
  std::vector<ReceiptRecord> receipts;  // to keep; due ones are not signed yet
  const Gallery::Impl* now = nullptr;   // the replaced gallery, if it opens
};

Erased WhoWasErased(const Gallery::Impl& copy, const Replaced& replaced, const Age& age,
                    std::span<const Receipt> receipts, const RestoreOptions& options) {
  Erased erased;
  if (const ReplacedGallery* now = replaced.Find(copy.id())) {
    erased.now = now->impl ? &*now->impl : nullptr;
    erased.receipts = now->receipts;
    if (!now->leaving.empty()) {
      erased.receipts.push_back({age.newest_before + 1, UnixTime(), 0, now->leaving, {}});
    }
  }
  for (size_t i = 0; i < receipts.size(); ++i) {
    const Receipt& r = receipts[i];
    if (r.gallery != copy.id()) continue;
    erased.receipts.push_back({r.generation, r.removed, r.erased, r.items, options.receipts[i]});
  }
  for (const ReceiptRecord& record : erased.receipts) {
    for (const ErasedItem& item : record.items) erased.persons.insert(item.person);
  }
  return erased;
}

// Whether this template is in the replaced gallery. A person's templates may have been removed one
// by one.
absl::StatusOr<bool> StoodThere(const Gallery::Impl* now, const Resident& resident) {
  if (now == nullptr) return false;
  HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, now->Find(resident.identity));
  for (const uint64_t place : named.places) {
    HEFT_ASSIGN_OR_RETURN(const Resident other, now->At(place));
    if (other.state == PlaceState::kLive && other.person == resident.person &&
        other.sample == resident.sample && other.enrolled == resident.enrolled) {
      return true;
    }
  }
  return false;
}

// The positions of templates in the copy that must not return, and all people with remains in it.
struct Returning {
  std::vector<uint64_t> positions;
  std::set<PersonId> persons;
};
absl::StatusOr<Returning> WhoWouldReturn(const Gallery::Impl& copy, const Erased& erased) {
  Returning out;
  if (erased.persons.empty()) return out;
  for (uint64_t first = 0; first < copy.places(); first += kRunPlaces) {
    HEFT_ASSIGN_OR_RETURN(const Run run, ReadRun(copy.reader(), copy.number(), first / kRunPlaces));
    for (size_t i = 0; i < kRunPlaces; ++i) {
      const Resident& r = run[i];
      if (r.state == PlaceState::kFree || !erased.persons.contains(r.person)) continue;
      out.persons.insert(r.person);
      if (r.state != PlaceState::kLive) continue;
      const auto stood = StoodThere(erased.now, r);
      if (!stood.ok() && !absl::IsDataLoss(stood.status())) return stood.status();
      if (!stood.ok() || !*stood) out.positions.push_back(first + i);
    }
  }
  return out;
}

// Ahead: gives the copy a generation that did not exist before, stores signed and due receipts, and
// rejects all pending enrolments: one may be of a person who was erased after its approval. A
// person who would return gets a receipt when removed again. `due`: whether receipts are due.
absl::Status Ahead(const Age& age, const Erased& erased, const std::set<PersonId>& returning,
                   GalleryChange* change, bool* due, uint64_t* rejected) {
  HEFT_ASSIGN_OR_RETURN(const auto waiting, change->before().PendingEnrolments());
  for (const auto& entry : waiting) {
    HEFT_RETURN_IF_ERROR(change->DropPending(entry.digest).status());
    *rejected += entry.record.identities.size();
  }
  for (ReceiptRecord receipt : erased.receipts) {
    if (receipt.erased == 0) {
      std::erase_if(receipt.items,
                    [&](const ErasedItem& item) { return returning.contains(item.person); });
      if (receipt.items.empty()) continue;
      *due = true;
    }
    const StoreKey key = receipt.erased == 0 ? DueReceiptKey(change->number(), receipt.generation)
                                             : NumberKey(change->number(), receipt.generation);
    HEFT_RETURN_IF_ERROR(change->writer().Put(Table::kReceipts, key, SerializeReceipt(receipt)));
  }
  change->head().generation = age.newest_before;
  change->Touch();
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeOlder(const std::string& address, const Age& age, const Replaced& replaced,
                       std::span<const Receipt> receipts, const RestoreOptions& options,
                       RestoreResult* result) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl copy, Gallery::Impl::Open(address));
  const Erased erased = WhoWasErased(copy, replaced, age, receipts, options);
  HEFT_ASSIGN_OR_RETURN(const Returning returning, WhoWouldReturn(copy, erased));
  bool due = false;
  const auto ahead = [&](GalleryChange* change) {
    return Ahead(age, erased, returning.persons, change, &due, &result->rejected);
  };
  copy = copy.Unread();  // an erasing writer waits for readers
  if (returning.positions.empty()) {
    {
      HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                            GalleryChange::Begin(copy, /*start=*/false, /*set_back=*/true));
      HEFT_RETURN_IF_ERROR(ahead(&change));
      HEFT_RETURN_IF_ERROR(change.Commit());
      // Nothing of rejected enrolments stays in the copy's files.
      if (!due && result->rejected > 0) return change.EraseRemains();
    }
    return due ? EraseRemains(address).status() : absl::OkStatus();
  }
  if (options.server == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(returning.positions.size(),
                     " templates in the copy are of people who were erased since and must be "
                     "removed again: give the server's model and keys (--model, --keys)"));
  }
  HEFT_ASSIGN_OR_RETURN(const RemoveResult removed,
                        RemoveAt(*options.server, address, returning.positions, ahead));
  HEFT_RETURN_IF_ERROR(removed.overwritten);
  result->erased += removed.erased;
  result->leaving += removed.leaving;
  return absl::OkStatus();
}

}  // namespace heft
