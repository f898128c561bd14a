// SPDX-License-Identifier: Apache-2.0
// The return of a store from a snapshot. Everything is made ready beside the folder, and takes its
// place by one exchange of names: before it nothing has happened, after it all has.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/progress.h"
#include "gallery/change.h"
#include "gallery/folder_exchange.h"
#include "gallery/gallery_copies.h"
#include "gallery/receipt.h"
#include "gallery/remembered.h"
#include "gallery/removal.h"
#include "gallery/replaced.h"
#include "gallery/request_log.h"
#include "heft/gallery_admin.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

// kUnknownAhead: by how many generations a damaged store, of which nothing is remembered, may have
// been ahead of its copy.
constexpr uint64_t kUnknownAhead = uint64_t{1} << 32;

// Age: of a gallery in a snapshot.
struct Age {
  std::string older;           // why it is, or may be; empty: it is not
  uint64_t newest_before = 0;  // generation that may have been
};

absl::StatusOr<Age> AgeOf(const Gallery::Impl& copy, const Replaced& replaced,
                          std::span<const Receipt> receipts) {
  Age age = {"", copy.generation()};
  // Somebody was erased in a generation that the snapshot does not know.
  for (const Receipt& receipt : receipts) {
    if (receipt.gallery != copy.id()) continue;
    age.newest_before = std::max(age.newest_before, receipt.generation);
  }
  HEFT_ASSIGN_OR_RETURN(const auto remembered, RememberedGeneration(copy.id()));
  const ReplacedGallery* now = replaced.Find(copy.id());
  const bool known = now != nullptr && now->head;
  if (known) {
    age.newest_before = std::max(age.newest_before, now->head->generation);
    if (std::ranges::count(now->head->revoked, copy.binding().key_id) > 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "gallery ", copy.address().name,
          " of the snapshot is under a key that was revoked since: no copy of before comes back"));
    }
  }
  if (remembered) age.newest_before = std::max(age.newest_before, *remembered);
  if (age.newest_before > copy.generation()) {
    age.older =
        absl::StrCat("gallery ", copy.address().name, " is of generation ", copy.generation(),
                     " in the snapshot, and had come to ", age.newest_before);
  } else if (!replaced.damaged.ok() && !known) {
    age.older = absl::StrCat("nothing tells how far gallery ", copy.address().name,
                             " had come: ", std::string(replaced.damaged.message()));
  }
  if (!known) age.newest_before += remembered ? kRememberedEvery : kUnknownAhead;
  return age;
}

absl::Status CheckAges(const std::vector<Age>& ages, const std::vector<Gallery::Impl>& copies,
                       const Replaced& replaced) {
  constexpr char kAccept[] =
      ": what came since would be lost. If it must be, say so (--accept-older): whoever was erased "
      "since is then removed again";
  for (const Age& age : ages) {
    if (!age.older.empty()) return absl::FailedPreconditionError(absl::StrCat(age.older, kAccept));
  }
  for (const auto& [id, gallery] : replaced.galleries) {
    const auto same = [&, of = id](const Gallery::Impl& copy) { return copy.id() == of; };
    if (std::ranges::any_of(copies, same)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("gallery ", gallery.name, " is not in the snapshot", kAccept));
  }
  return absl::OkStatus();
}

// Who was erased must be known, or it must be said that it is not.
absl::Status CheckReceiptsKnown(const std::vector<Age>& ages,
                                const std::vector<Gallery::Impl>& copies, const Replaced& replaced,
                                const RestoreOptions& options) {
  if (options.without_receipts || !options.receipts.empty()) return absl::OkStatus();
  for (size_t i = 0; i < copies.size(); ++i) {
    const absl::Status unread = replaced.Unread(copies[i].id());
    if (ages[i].older.empty() || unread.ok()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the receipts of gallery ", copies[i].address().name,
        ", and with them who must not come back, cannot all be read in what is replaced (",
        std::string(unread.message()),
        "): give them (--receipts), or say that it has to be without (--without-receipts)"));
  }
  return absl::OkStatus();
}

// The servers whose receipts count: that of the folder, that of the snapshot, those that are
// trusted.
absl::StatusOr<Trust> ReceiptSigners(const std::string& to, const std::string& from,
                                     const Trust* trusted) {
  Trust signers;
  const auto add = [&](const SignerKey& key) -> absl::Status {
    if (trusted != nullptr && trusted->IsRevoked(key)) return absl::OkStatus();
    const absl::Status added = signers.Add(Role::kServer, HexString(key).substr(0, 16), key);
    return absl::IsAlreadyExists(added) ? absl::OkStatus() : added;
  };
  for (const std::string& folder : {to, from}) {
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

absl::StatusOr<std::vector<Receipt>> ReadReceipts(const Trust& signers,
                                                  const std::vector<std::vector<uint8_t>>& files) {
  if (!files.empty() && !signers.Lists(Role::kServer)) {
    return absl::FailedPreconditionError(
        "neither the folder nor the snapshot has the server's public key (server.pub), by which to "
        "know its receipts: give a trust file that lists it");
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
      return absl::DataLossError(absl::StrCat(what, ": of another gallery than was signed"));
    }
    receipts.push_back(std::move(receipt));
  }
  return receipts;
}

// Erased: of one gallery, who is not to come back, and what is known of the others.
struct Erased {
  std::set<PersonId> persons;
  std::vector<ReceiptRecord> receipts;  // to be kept; those that are due have none yet
  const Gallery::Impl* now = nullptr;   // the gallery that is replaced, if it opens
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

// Whether this template stood in the gallery that is replaced: of somebody with several of them,
// some may have been removed alone.
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

// Positions in a copy of those who are not to come back; and of whom of them there is anything.
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

// Ahead: the copy gets a generation that there never was, keeps the receipts that were given or are
// due, and nothing waits in it: among them may be somebody who was erased after he was admitted.
// Who would return gets a receipt when he has been removed again. Whether some are due.
absl::StatusOr<bool> Ahead(const Gallery::Impl& copy, const Age& age, const Erased& erased,
                           const std::set<PersonId>& returning, RestoreResult* result) {
  HEFT_ASSIGN_OR_RETURN(const auto waiting, copy.Waiting());
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(copy.Unread(), /*start=*/false));
  for (const auto& entry : waiting) {
    HEFT_RETURN_IF_ERROR(change.DropQuarantined(entry.digest));
    result->rejected += entry.identities.size();
  }
  bool due = false;
  for (ReceiptRecord receipt : erased.receipts) {
    if (receipt.erased == 0) {
      std::erase_if(receipt.items,
                    [&](const ErasedItem& item) { return returning.contains(item.person); });
      if (receipt.items.empty()) continue;
      due = true;
    }
    const StoreKey key = receipt.erased == 0 ? DueReceiptKey(change.number(), receipt.generation)
                                             : NumberKey(change.number(), receipt.generation);
    HEFT_RETURN_IF_ERROR(change.writer().Put(Table::kReceipts, key, SerializeReceipt(receipt)));
  }
  change.head().generation = age.newest_before;
  change.Touch();
  HEFT_RETURN_IF_ERROR(change.Commit());
  return due;
}

// MakeOlder: an older copy fit to take the place of the gallery.
absl::Status MakeOlder(const std::string& folder, const std::string& name, const Age& age,
                       const Replaced& replaced, std::span<const Receipt> receipts,
                       const RestoreOptions& options, RestoreResult* result) {
  const std::string address = absl::StrCat(folder, ":", name);
  Returning returning;
  bool due = false;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl copy, Gallery::Impl::Open(address));
    const Erased erased = WhoWasErased(copy, replaced, age, receipts, options);
    HEFT_ASSIGN_OR_RETURN(returning, WhoWouldReturn(copy, erased));
    HEFT_ASSIGN_OR_RETURN(due, Ahead(copy, age, erased, returning.persons, result));
  }
  if (returning.positions.empty()) return due ? EraseRemains(address).status() : absl::OkStatus();
  if (options.server == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(returning.positions.size(),
                     " templates in the snapshot are of people who were erased "
                     "since, and are to be removed again: give the server's "
                     "model and keys (--model, --keys)"));
  }
  HEFT_ASSIGN_OR_RETURN(const RemoveResult removed,
                        RemoveAt(*options.server, address, returning.positions));
  HEFT_RETURN_IF_ERROR(removed.overwritten);
  result->erased += removed.erased;
  result->leaving += removed.leaving;
  return absl::OkStatus();
}

// What a server that goes on answering has written since the copy began.
absl::Status CopyLate(const std::string& from, const std::string& to) {
  HEFT_RETURN_IF_ERROR(CopyServerFiles(from, to, ServerFiles::kEverything));
  const RequestLog log(from);
  const auto requests = ReadFile(log.File());
  if (absl::IsNotFound(requests.status())) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(requests.status());
  return WriteFileAtomic(RequestLog(to).File(), *requests, 0600);
}

// A snapshot takes the place of a whole folder.
absl::Status CheckFolder(const Address& address) {
  if (address.name != kDefaultName) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a snapshot is of all galleries of a folder: give ", address.folder, " alone"));
  }
  if (address.store.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(address.store,
                   ": a database comes back from its own backups (pg_restore, pgBackRest); a "
                   "gallery of a snapshot is put into it by `heft-server gallery import`"));
}

// Everything in the folder that is not the server's would be gone with it.
absl::Status CheckReplaceable(const std::string& folder, const std::string& snapshot) {
  std::error_code error;
  if (folder == snapshot) return absl::InvalidArgumentError("the snapshot is the gallery itself");
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder, " holds a folder, ", entry.path().filename().string(),
                       ": what is not the gallery's would be gone with it; move it away"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RestoreResult> Restore(const std::string& snapshot, const std::string& folder,
                                      const RestoreOptions& options, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Address address, ParseAddress(folder));
  HEFT_RETURN_IF_ERROR(CheckFolder(address));
  const std::string to = CanonicalFolder(address.folder), from = CanonicalFolder(snapshot);
  HEFT_RETURN_IF_ERROR(CheckReplaceable(to, from));
  HEFT_ASSIGN_OR_RETURN(const FolderTurn turn, FolderTurn::Take(to, WriterWait()));
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(from, StoreMode::kRead));
  HEFT_RETURN_IF_ERROR(store->Check());
  HEFT_ASSIGN_OR_RETURN(const Trust signers, ReceiptSigners(to, from, options.trust));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Receipt> receipts,
                        ReadReceipts(signers, options.receipts));
  const StagingFolder staging(to);  // goes after the lock on what it holds in the end
  HEFT_ASSIGN_OR_RETURN(const Replaced replaced, LookAtReplaced(to));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Gallery::Impl> copies, GalleriesOf(store, from));
  std::vector<Age> ages;
  for (const Gallery::Impl& copy : copies) {
    HEFT_ASSIGN_OR_RETURN(Age age, AgeOf(copy, replaced, receipts));
    ages.push_back(std::move(age));
  }
  if (!options.accept_older) HEFT_RETURN_IF_ERROR(CheckAges(ages, copies, replaced));
  HEFT_RETURN_IF_ERROR(CheckReceiptsKnown(ages, copies, replaced, options));

  staging.Remove();
  const Progress progress(monitor, "copying bytes");
  HEFT_RETURN_IF_ERROR(store->Copy(
      staging.path, [&](uint64_t done, uint64_t all) { return progress.Update(done, all); }));
  const bool there = FileExists(to);
  if (there) HEFT_RETURN_IF_ERROR(CopyServerFiles(to, staging.path, ServerFiles::kEverything));
  HEFT_RETURN_IF_ERROR(CopyServerFiles(from, staging.path, ServerFiles::kAll));
  RestoreResult result;
  for (size_t i = 0; i < copies.size(); ++i) {
    const bool older = !ages[i].older.empty();
    result.older = result.older || older;
    if (!older && receipts.empty()) continue;
    HEFT_RETURN_IF_ERROR(MakeOlder(staging.path, copies[i].address().name, ages[i], replaced,
                                   receipts, options, &result));
  }
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  {
    // What was answered meanwhile is not to be answered again.
    std::optional<FileLock> log;
    if (there) {
      HEFT_ASSIGN_OR_RETURN(FileLock taken, RequestLog(to).Lock());
      log.emplace(std::move(taken));
      HEFT_RETURN_IF_ERROR(CopyLate(to, staging.path));
    }
    HEFT_RETURN_IF_ERROR(ExchangeFolders(staging.path, to, there));
  }
  HEFT_ASSIGN_OR_RETURN(const auto restored, OpenStore(to, StoreMode::kRead));
  HEFT_ASSIGN_OR_RETURN(const auto galleries, GalleriesOf(restored, to));
  for (const Gallery::Impl& gallery : galleries) {
    result.galleries.push_back({gallery.address().name, gallery.id(), gallery.generation()});
  }
  return result;
}

}  // namespace heft
