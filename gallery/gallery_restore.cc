// SPDX-License-Identifier: Apache-2.0
// The return of a store from a snapshot. Everything is made ready beside the folder, and takes its
// place by one exchange of names: before it nothing has happened, after it all has.
#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/progress.h"
#include "gallery/change.h"
#include "gallery/gallery_copies.h"
#include "gallery/receipt.h"
#include "gallery/removal.h"
#include "gallery/store_lmdb.h"
#include "heft/gallery_admin.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

// kUnknownAhead: by how many generations a damaged store, of which nothing is remembered, may have
// been ahead of its copy.
constexpr uint64_t kUnknownAhead = uint64_t{1} << 32;

// Replaced: the store that is to go.
struct Replaced {
  bool there = false;
  absl::Status damaged;  // why nothing, or not all, is known of it
  std::unique_ptr<StoreLock> lock;
  std::optional<FileLock> folder_lock;  // of one that does not open
  std::map<GalleryId, Gallery::Impl> galleries;

  const Gallery::Impl* Find(const GalleryId& id) const {
    const auto it = galleries.find(id);
    return it == galleries.end() ? nullptr : &it->second;
  }
};

// Nobody changes it from here on.
absl::StatusOr<Replaced> LookAtReplaced(const std::string& folder) {
  Replaced replaced;
  replaced.there = StoreExists(folder);
  if (!replaced.there) return replaced;
  const auto store = OpenStore(folder, StoreMode::kWrite);
  if (!store.ok()) {
    if (!absl::IsDataLoss(store.status())) return store.status();
    replaced.damaged = store.status();
    HEFT_ASSIGN_OR_RETURN(FileLock lock, LockStore(folder, WriterWait()));
    replaced.folder_lock.emplace(std::move(lock));
    return replaced;
  }
  HEFT_ASSIGN_OR_RETURN(replaced.lock, (*store)->Lock(WriterWait()));
  // One by one: what is damaged in one of them must not hide whom another has erased.
  HEFT_ASSIGN_OR_RETURN(const auto reader, (*store)->Read());
  const auto names = StoreNames(*reader);
  replaced.damaged = names.status();
  if (!names.ok()) return replaced;
  for (const std::string& name : *names) {
    auto gallery = Gallery::Impl::Open(*store, {folder, name});
    if (!gallery.ok()) {
      replaced.damaged = gallery.status();
      continue;
    }
    const GalleryId id = gallery->id();
    replaced.galleries.emplace(id, std::move(*gallery));
  }
  return replaced;
}

// Age: of a gallery in a snapshot.
struct Age {
  std::string older;           // why it is, or may be; empty: it is not
  uint64_t newest_before = 0;  // generation that may have been
};

absl::StatusOr<Age> AgeOf(const Gallery::Impl& copy, const Replaced& replaced,
                          std::span<const std::vector<uint8_t>> receipts) {
  Age age = {"", copy.generation()};
  // Somebody was erased in a generation that the snapshot does not know.
  for (const std::vector<uint8_t>& receipt : receipts) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt said, ReadReceipt(receipt, "a receipt"));
    if (said.gallery == copy.id()) age.newest_before = std::max(age.newest_before, said.generation);
  }
  HEFT_ASSIGN_OR_RETURN(const auto remembered, RememberedGeneration(copy.id()));
  const Gallery::Impl* now = replaced.Find(copy.id());
  if (now != nullptr) {
    age.newest_before = std::max(age.newest_before, now->generation());
    if (std::ranges::count(now->revoked_keys(), copy.binding().key_id) > 0) {
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
  } else if (!replaced.damaged.ok() && now == nullptr && !remembered) {
    age.older = absl::StrCat("nothing tells how far gallery ", copy.address().name,
                             " had come: ", std::string(replaced.damaged.message()));
    age.newest_before += kUnknownAhead;
  }
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
        absl::StrCat("gallery ", gallery.address().name, " is not in the snapshot", kAccept));
  }
  return absl::OkStatus();
}

// Erased: of one gallery, who is not to come back, and what is known of the others.
struct Erased {
  std::set<PersonId> persons;
  std::vector<ReceiptRecord> receipts;  // to be kept
  const Gallery::Impl* now = nullptr;   // the gallery that is replaced, if it can be read
};

absl::Status AddReplaced(Erased* erased) {
  const Gallery::Impl& now = *erased->now;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(now.reader().Scan(
      Table::kReceipts, NumberKey(now.number(), 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(now.number(), key)) return false;
        auto record = ParseReceipt(value, "the gallery's receipts");
        status = record.status();
        if (!status.ok()) return false;
        for (const ErasedItem& item : record->items) erased->persons.insert(item.person);
        if (record->erased != 0) erased->receipts.push_back(std::move(*record));
        return true;
      }));
  HEFT_RETURN_IF_ERROR(status);
  if (now.head().leaving == 0) return absl::OkStatus();
  for (uint64_t first = 0; first < now.places(); first += kRunPlaces) {
    HEFT_ASSIGN_OR_RETURN(const Run run, ReadRun(now.reader(), now.number(), first / kRunPlaces));
    for (const Resident& r : run) {
      if (r.state == PlaceState::kLeaving) erased->persons.insert(r.person);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Erased> WhoWasErased(const Gallery::Impl& copy, const Replaced& replaced,
                                    const std::vector<std::vector<uint8_t>>& receipts) {
  Erased erased;
  erased.now = replaced.Find(copy.id());
  if (erased.now != nullptr) HEFT_RETURN_IF_ERROR(AddReplaced(&erased));
  for (size_t i = 0; i < receipts.size(); ++i) {
    const std::string what = absl::StrCat("receipt ", i + 1);
    HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(receipts[i], what));
    HEFT_ASSIGN_OR_RETURN(const Receipt receipt, ParseReceiptFile(file.file, what));
    if (receipt.gallery != copy.id()) continue;
    for (const ErasedItem& item : receipt.items) erased.persons.insert(item.person);
    erased.receipts.push_back(
        {receipt.generation, receipt.removed, receipt.erased, receipt.items, receipts[i]});
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

// Positions in a copy of those who are not to come back.
absl::StatusOr<std::vector<uint64_t>> ToErase(const Gallery::Impl& copy, const Erased& erased) {
  std::vector<uint64_t> positions;
  if (erased.persons.empty()) return positions;
  for (uint64_t first = 0; first < copy.places(); first += kRunPlaces) {
    HEFT_ASSIGN_OR_RETURN(const Run run, ReadRun(copy.reader(), copy.number(), first / kRunPlaces));
    for (size_t i = 0; i < kRunPlaces; ++i) {
      const Resident& r = run[i];
      if (r.state != PlaceState::kLive || !erased.persons.contains(r.person)) continue;
      HEFT_ASSIGN_OR_RETURN(const bool stood, StoodThere(erased.now, r));
      if (!stood) positions.push_back(first + i);
    }
  }
  return positions;
}

// Ahead: the copy gets a generation that there never was, keeps the receipts that were given, and
// nothing waits in it: among them may be somebody who was erased after he was admitted.
absl::Status Ahead(const Gallery::Impl& copy, const Age& age, const Erased& erased,
                   RestoreResult* result) {
  HEFT_ASSIGN_OR_RETURN(const auto waiting, copy.Waiting());
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(copy.Unread(), /*start=*/false));
  for (const auto& entry : waiting) {
    HEFT_RETURN_IF_ERROR(change.DropQuarantined(entry.digest));
    result->rejected += entry.identities.size();
  }
  for (const ReceiptRecord& receipt : erased.receipts) {
    HEFT_RETURN_IF_ERROR(change.writer().Put(Table::kReceipts,
                                             NumberKey(change.number(), receipt.generation),
                                             SerializeReceipt(receipt)));
  }
  change.head().generation = age.newest_before;
  change.Touch();
  return change.Commit();
}

// MakeOlder: an older copy fit to take the place of the gallery.
absl::Status MakeOlder(const std::string& folder, const std::string& name, const Age& age,
                       const Replaced& replaced, const RestoreOptions& options,
                       RestoreResult* result) {
  const std::string address = absl::StrCat(folder, ":", name);
  Erased erased;
  std::vector<uint64_t> positions;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl copy, Gallery::Impl::Open(address));
    HEFT_ASSIGN_OR_RETURN(erased, WhoWasErased(copy, replaced, options.receipts));
    HEFT_ASSIGN_OR_RETURN(positions, ToErase(copy, erased));
    HEFT_RETURN_IF_ERROR(Ahead(copy, age, erased, result));
  }
  if (positions.empty()) return absl::OkStatus();
  if (options.server == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(positions.size(),
                     " templates in the snapshot are of people who were erased "
                     "since, and are to be removed again: give the server's "
                     "model and keys (--model, --keys)"));
  }
  HEFT_ASSIGN_OR_RETURN(const RemoveResult removed, RemoveAt(*options.server, address, positions));
  HEFT_RETURN_IF_ERROR(removed.overwritten);
  result->erased += removed.erased;
  result->leaving += removed.leaving;
  return absl::OkStatus();
}

// Exchange: the folder `ready` takes the place of `folder`, and the other way round.
absl::Status Exchange(const std::string& ready, const std::string& folder, bool there) {
  const unsigned flags = there ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, ready.c_str(), AT_FDCWD, folder.c_str(), flags) != 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot put ", ready, " in the place of ", folder, ": ", std::strerror(errno),
        errno == EBUSY || errno == EXDEV || errno == EINVAL
            ? ": a folder that is mounted, or whose file system cannot exchange names: restore "
              "into a new folder, and move it there while nobody uses the gallery"
            : ""));
  }
  return SyncDirectory(fs::path(folder).parent_path().string());
}

// The folder without links and what stands for itself in it.
std::string Canonical(const std::string& folder) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  std::string text = path.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
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

// Staging: the folder in which a store is made ready; removed with whatever is in it.
struct Staging {
  explicit Staging(const std::string& folder) : path(folder + ".restoring") {}
  ~Staging() { Remove(); }
  void Remove() const {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const std::string path;
};

}  // namespace

absl::StatusOr<RestoreResult> Restore(const std::string& snapshot, const std::string& folder,
                                      const RestoreOptions& options, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Address address, ParseAddress(folder));
  if (address.name != kDefaultName) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a snapshot is of all galleries of a folder: give ", address.folder, " alone"));
  }
  const std::string to = Canonical(address.folder), from = Canonical(snapshot);
  HEFT_RETURN_IF_ERROR(CheckReplaceable(to, from));
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(from, StoreMode::kRead));
  HEFT_RETURN_IF_ERROR(store->Check());
  const Staging staging(to);  // goes after the lock on what it holds in the end
  HEFT_ASSIGN_OR_RETURN(const Replaced replaced, LookAtReplaced(to));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Gallery::Impl> copies, GalleriesOf(store, from));
  std::vector<Age> ages;
  for (const Gallery::Impl& copy : copies) {
    HEFT_ASSIGN_OR_RETURN(Age age, AgeOf(copy, replaced, options.receipts));
    ages.push_back(std::move(age));
  }
  if (!options.accept_older) HEFT_RETURN_IF_ERROR(CheckAges(ages, copies, replaced));

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
    if (older || !options.receipts.empty()) {
      HEFT_RETURN_IF_ERROR(
          MakeOlder(staging.path, copies[i].address().name, ages[i], replaced, options, &result));
    }
  }
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  HEFT_RETURN_IF_ERROR(Exchange(staging.path, to, there));
  HEFT_ASSIGN_OR_RETURN(const auto restored, OpenStore(to, StoreMode::kRead));
  HEFT_ASSIGN_OR_RETURN(const auto galleries, GalleriesOf(restored, to));
  for (const Gallery::Impl& gallery : galleries) {
    result.galleries.push_back({gallery.address().name, gallery.id(), gallery.generation()});
  }
  return result;
}

}  // namespace heft
