// SPDX-License-Identifier: Apache-2.0
// The return of a store from a snapshot. Everything is made ready beside the folder, and takes its
// place by one exchange of names: before it nothing has happened, after it all has.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "base/progress.h"
#include "gallery/change.h"
#include "gallery/folder_exchange.h"
#include "gallery/gallery_copies.h"
#include "gallery/remembered.h"
#include "gallery/replaced.h"
#include "gallery/request_log.h"
#include "heft/gallery_admin.h"
#include "matcher/restored_copy.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<Age> AgeOf(const Gallery::Impl& copy, const Replaced& replaced,
                          std::span<const Receipt> receipts) {
  Age age = {"", copy.generation()};
  // A person was erased in a generation that the snapshot does not have.
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
      return absl::FailedPreconditionError(
          absl::StrCat("gallery ", copy.address().name,
                       " of the snapshot is under a key that was revoked since: use a snapshot of "
                       "the time after that"));
    }
  }
  if (remembered) age.newest_before = std::max(age.newest_before, *remembered);
  if (age.newest_before > copy.generation()) {
    age.older =
        absl::StrCat("gallery ", copy.address().name, " is of generation ", copy.generation(),
                     " in the snapshot, but had reached ", age.newest_before);
  } else if (!replaced.damaged.ok() && !known) {
    age.older = absl::StrCat("no record shows which generation gallery ", copy.address().name,
                             " had reached: ", std::string(replaced.damaged.message()));
  }
  if (!known) age.newest_before += remembered ? kRememberedEvery : kUnknownAhead;
  return age;
}

absl::Status CheckAges(const std::vector<Age>& ages, const std::vector<Gallery::Impl>& copies,
                       const Replaced& replaced) {
  constexpr char kAccept[] =
      ": later changes would be lost. To accept that, give --accept-older; people who were erased "
      "since are then removed again";
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
    return absl::FailedPreconditionError(
        absl::StrCat("the receipts of gallery ", copies[i].address().name,
                     " cannot all be read in the replaced store (", std::string(unread.message()),
                     "), so it is unknown who must stay erased: give the receipts (--receipts), or "
                     "accept the copy without them (--receipts none)"));
  }
  return absl::OkStatus();
}

// What a server that goes on answering has written since the copy began.
absl::Status CopyLate(const std::string& from, const std::string& to) {
  HEFT_RETURN_IF_ERROR(CopyServerFiles(from, to, ServerFiles::kEverything));
  return RequestLog(from).CopyTo(to);
}

// CheckServerKeys: kFailedPrecondition for a snapshot without its server's keys if the folder does
// not have them either: the server would make other keys, which are not trusted.
absl::Status CheckServerKeys(const std::string& folder, const std::string& snapshot) {
  if (FileExists(absl::StrCat(folder, "/", kKeysMade))) return absl::OkStatus();
  const std::string made = absl::StrCat(snapshot, "/", kKeysMade);
  const auto text = ReadTextFile(made, 4096);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(text.status());
  std::vector<std::string> missing;
  const std::vector<std::string> names = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  for (const std::string& name : names) {
    const bool there = FileExists(absl::StrCat(snapshot, "/", name)) ||
                       FileExists(absl::StrCat(folder, "/", name));
    if (!there) missing.push_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(snapshot, " has no ", absl::StrJoin(missing, ", "),
                   " of its server, and neither has ", folder,
                   ": copy them into it (from `heft-server gallery snapshot --with-keys`). To let "
                   "the server make "
                   "new keys, which others must trust, remove ",
                   made));
}

// A snapshot takes the place of a whole folder.
absl::Status CheckFolder(const Address& address, const std::string& snapshot) {
  if (address.name != kDefaultName) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a snapshot contains all galleries of a folder: give only the folder, ", address.folder));
  }
  if (address.store.empty() && snapshot.empty()) {
    return absl::InvalidArgumentError(
        "no snapshot given: give the output of `heft-server gallery snapshot` (--from)");
  }
  if (address.store.empty() || snapshot.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(address.store,
                   ": a database is restored from its own backups (pg_restore, pgBackRest), and "
                   "this command without a snapshot then accepts its state. `heft-server gallery "
                   "copy` copies a gallery of a snapshot into a database"));
}

// Everything in the folder that is not the server's would be gone with it.
absl::Status CheckReplaceable(const std::string& folder, const std::string& snapshot) {
  std::error_code error;
  if (folder == snapshot) {
    return absl::InvalidArgumentError("the snapshot is the gallery itself: give another folder");
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder, " holds a folder, ", entry.path().filename().string(),
                       ": it does not belong to the gallery and would be lost; move it away"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RestoreResult> Restore(const std::string& snapshot, const std::string& folder,
                                      const RestoreOptions& options, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Address address, ParseAddress(folder));
  HEFT_RETURN_IF_ERROR(CheckFolder(address, snapshot));
  if (snapshot.empty()) return RestoreInPlace(address, options);
  const std::string to = CanonicalFolder(address.folder), from = CanonicalFolder(snapshot);
  HEFT_RETURN_IF_ERROR(CheckReplaceable(to, from));
  HEFT_RETURN_IF_ERROR(CheckServerKeys(to, from));
  HEFT_ASSIGN_OR_RETURN(const FolderTurn turn, FolderTurn::Take(to, WriterWait()));
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(from, StoreMode::kRead));
  HEFT_RETURN_IF_ERROR(store->Check());
  HEFT_ASSIGN_OR_RETURN(const std::vector<Receipt> receipts,
                        ReadReceipts({to, from}, options.trust, options.receipts));
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
    const std::string copy = absl::StrCat(staging.path, ":", copies[i].address().name);
    HEFT_RETURN_IF_ERROR(MakeOlder(copy, ages[i], replaced, receipts, options, &result));
  }
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  {
    // Requests that were answered meanwhile must not be answered again.
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
