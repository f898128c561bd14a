// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/used_files.h"
#include "store/writer_queue.h"

namespace heft {
namespace {

// SqliteLock: `owner` is the store in this process that it belongs to.
class SqliteLock : public StoreLock {
 public:
  SqliteLock(FileLock lock, std::shared_ptr<StoreEnvironment> owner)
      : owner_(std::move(owner)), lock_(std::move(lock)) {}
  const StoreEnvironment* owner() const { return owner_.get(); }

 private:
  const std::shared_ptr<StoreEnvironment> owner_;
  const FileLock lock_;
};

class SqliteStore : public Store {
 public:
  SqliteStore(std::shared_ptr<StoreEnvironment> environment, StoreMode mode)
      : environment_(std::move(environment)), mode_(mode) {}

  absl::StatusOr<std::unique_ptr<StoreReader>> Read() const override {
    HEFT_ASSIGN_OR_RETURN(auto snapshot, environment_->Read());
    return std::make_unique<SqliteReader>(environment_, std::move(snapshot));
  }

  absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) override {
    if (mode_ == StoreMode::kRead) {
      return absl::FailedPreconditionError(
          absl::StrCat("the store in ", environment_->folder(), " was opened only for reading"));
    }
    HEFT_ASSIGN_OR_RETURN(FileLock lock, LockStore(environment_->folder(), wait));
    HEFT_RETURN_IF_ERROR(environment_->CheckPlace());
    return std::make_unique<SqliteLock>(std::move(lock), environment_);
  }

  absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) override {
    HEFT_RETURN_IF_ERROR(CheckLock(lock));
    if (environment_->writing.exchange(true)) {
      return absl::FailedPreconditionError("another transaction of this store is open: end it");
    }
    const auto database = environment_->Begin();
    if (database.ok()) {
      const auto state = StoreTables(*database, environment_->blocks()).State();
      if (state.ok()) return std::make_unique<SqliteWriter>(environment_, *database, *state + 1);
      environment_->Ended(std::nullopt);
      environment_->writing = false;
      return state.status();
    }
    environment_->writing = false;
    return database.status();
  }

  absl::Status Scrub(const StoreLock& lock, absl::Duration wait) override {
    HEFT_RETURN_IF_ERROR(CheckIdle(lock));
    return environment_->Scrub(wait);
  }

  absl::StatusOr<bool> Rebuild(const StoreLock& lock, absl::Duration wait) override {
    HEFT_RETURN_IF_ERROR(CheckIdle(lock));
    return environment_->Rebuild(wait);
  }

  absl::Status Copy(const std::string& folder,
                    const std::function<bool(uint64_t, uint64_t)>& progress) const override {
    HEFT_ASSIGN_OR_RETURN(const StoreStatistics statistics, Statistics());
    HEFT_ASSIGN_OR_RETURN(const auto state, Read());
    return CopyStore(folder, *state, statistics.live_bytes, progress);
  }

  absl::StatusOr<StoreStatistics> Statistics() const override { return environment_->Statistics(); }
  absl::Status Check() const override { return environment_->Check(); }

 private:
  absl::Status CheckLock(const StoreLock& lock) const {
    const auto* const ours = dynamic_cast<const SqliteLock*>(&lock);
    if (ours != nullptr && ours->owner() == environment_.get()) return absl::OkStatus();
    return absl::InvalidArgumentError("this lock is of another store");
  }
  absl::Status CheckIdle(const StoreLock& lock) const {
    HEFT_RETURN_IF_ERROR(CheckLock(lock));
    if (!environment_->writing) return absl::OkStatus();
    return absl::FailedPreconditionError("a transaction of this store is open: end it");
  }

  const std::shared_ptr<StoreEnvironment> environment_;
  const StoreMode mode_;
};

}  // namespace

std::string StorePath(const std::string& folder) { return absl::StrCat(folder, "/store.sqlite"); }
std::string BlocksPath(const std::string& folder) { return absl::StrCat(folder, "/store.blocks"); }

bool IsStoreFile(std::string_view name) {
  return name.starts_with("store.sqlite") || name == "store.blocks" || name == "lock";
}

std::string_view TableName(Table table) {
  static constexpr std::array<std::string_view, kTables> kNames = {
      "catalog", "head",    "blocks",    "block info", "roster",
      "names",   "samples", "journal",   "folds",      "pending files",
      "pending", "free",    "exchanges", "receipts",   "requests"};
  return kNames[static_cast<size_t>(table)];
}

absl::StatusOr<FileLock> LockStore(const std::string& folder, absl::Duration wait,
                                   absl::Duration patience) {
  constexpr char kBusy[] = "busy";
  constexpr absl::Duration kPause = absl::Milliseconds(2);
  const std::string path = absl::StrCat(folder, "/lock");
  HEFT_ASSIGN_OR_RETURN(const WriterQueue queue, WriterQueue::Join(path));
  absl::Time tried = absl::Now();
  const absl::Time end = tried + wait;
  while (true) {
    HEFT_ASSIGN_OR_RETURN(bool turn, queue.IsNext());
    if (!turn && absl::Now() - tried > patience) {
      turn = true;
      tried = absl::Now();
    }
    if (turn) {
      auto lock = FileLock::Take(path, 0600, kBusy);
      if (lock.ok() || lock.status().message() != kBusy) return lock;
    }
    if (absl::Now() >= end) {
      return absl::UnavailableError(absl::StrCat("others write to the store in ", folder,
                                                 ", and have for ", absl::FormatDuration(wait),
                                                 ": wait longer, or end them"));
    }
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
    absl::SleepFor(kPause);
  }
}

bool FolderStoreExists(const std::string& folder) {
  struct stat info;
  return stat(StorePath(folder).c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

absl::StatusOr<std::shared_ptr<Store>> OpenFolderStore(const std::string& folder, StoreMode mode) {
  if (!FolderStoreExists(folder)) {
    if (mode != StoreMode::kCreate) {
      return absl::NotFoundError(
          absl::StrCat("there is no store in ", folder, ": make one, or give the folder of one"));
    }
    HEFT_RETURN_IF_ERROR(CreateStore(folder));
  }
  HEFT_ASSIGN_OR_RETURN(auto environment, StoreEnvironment::Open(folder));
  for (const char* name :
       {"/store.sqlite", "/store.sqlite-wal", "/store.sqlite-shm", "/store.blocks", "/lock"}) {
    NoteInput(folder + name);
  }
  if (mode != StoreMode::kRead && !environment->writable()) {
    const bool frozen = access(StorePath(folder).c_str(), W_OK) != 0 && errno == EROFS;
    return absl::UnavailableError(absl::StrCat(
        "the store in ", folder,
        frozen ? " is on a read-only file system: mount it for writing, or open it for reading"
               : " cannot be written: give this user the permission, or open it for reading"));
  }
  return std::make_shared<SqliteStore>(std::move(environment), mode);
}

}  // namespace heft
