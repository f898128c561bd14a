// SPDX-License-Identifier: Apache-2.0
#include "gallery/store_lmdb.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "base/used_files.h"
#include "gallery/writer_queue.h"

namespace heft {
namespace {

// LmdbLock: `owner` names the store in this process that it belongs to.
class LmdbLock : public StoreLock {
 public:
  LmdbLock(FileLock lock, std::shared_ptr<LmdbEnvironment> owner)
      : owner_(std::move(owner)), lock_(std::move(lock)) {}
  const LmdbEnvironment* owner() const { return owner_.get(); }

 private:
  const std::shared_ptr<LmdbEnvironment> owner_;
  const FileLock lock_;
};

class LmdbStore : public Store {
 public:
  LmdbStore(std::shared_ptr<LmdbEnvironment> environment, StoreMode mode)
      : environment_(std::move(environment)), mode_(mode) {}

  absl::StatusOr<std::unique_ptr<StoreReader>> Read() const override {
    HEFT_RETURN_IF_ERROR(environment_->CheckPlace());
    HEFT_ASSIGN_OR_RETURN(LmdbTransaction transaction, environment_->Begin(false));
    return std::make_unique<LmdbReader>(std::move(transaction));
  }

  absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) override {
    if (mode_ == StoreMode::kRead) {
      return absl::FailedPreconditionError(
          absl::StrCat("the store in ", environment_->folder(), " was opened only for reading"));
    }
    HEFT_ASSIGN_OR_RETURN(FileLock lock, LockStore(environment_->folder(), wait));
    HEFT_RETURN_IF_ERROR(environment_->CheckPlace());
    // Readers that were killed would keep pages from being used again.
    environment_->CheckReaders();
    // If a writer was killed in a commit, LMDB shows that commit to readers only when the next
    // transaction begins. Beginning one makes readers see the state that the writer will change.
    if (!environment_->writing) HEFT_RETURN_IF_ERROR(environment_->Begin(true).status());
    return std::make_unique<LmdbLock>(std::move(lock), environment_);
  }

  absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) override {
    HEFT_RETURN_IF_ERROR(CheckLock(lock));
    if (environment_->writing.exchange(true)) {
      return absl::FailedPreconditionError("another transaction of this store is open: end it");
    }
    auto transaction = environment_->Begin(true);
    const absl::Status begun =
        transaction.ok() ? Begun(BeginClean(*environment_, *transaction)) : transaction.status();
    if (!begun.ok()) {
      environment_->writing = false;
      return begun;
    }
    return std::make_unique<LmdbWriter>(
        *std::move(transaction), [environment = environment_] { environment->writing = false; });
  }

  absl::Status Scrub(const StoreLock& lock, absl::Duration wait) override {
    HEFT_RETURN_IF_ERROR(CheckLock(lock));
    if (environment_->writing) {
      return absl::FailedPreconditionError("a transaction of this store is open: end it");
    }
    return ScrubStore(*environment_, wait);
  }

  absl::Status Copy(const std::string& folder,
                    const std::function<bool(uint64_t, uint64_t)>& progress) const override {
    HEFT_ASSIGN_OR_RETURN(const StoreStatistics statistics, Statistics());
    HEFT_ASSIGN_OR_RETURN(const auto state, Read());
    return CopyStore(folder, *state, statistics.live_bytes, progress);
  }

  absl::StatusOr<StoreStatistics> Statistics() const override {
    HEFT_ASSIGN_OR_RETURN(const LmdbTransaction transaction, environment_->Begin(false));
    StoreStatistics statistics;
    statistics.bytes = transaction.file().Map().size();
    for (size_t i = 0; i < kTables + 2; ++i) {
      // LMDB's own tables, of free pages and of names, are 0 and 1.
      const MDB_dbi dbi =
          i < kTables ? transaction.file().table(static_cast<Table>(i)) : i - kTables;
      MDB_stat stat;
      const int rc = mdb_stat(transaction.get(), dbi, &stat);
      if (rc != 0) return LmdbError("read", environment_->folder(), rc);
      statistics.live_bytes +=
          (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
    }
    statistics.live_bytes += 2 * transaction.file().page();
    for (const auto& reader : environment_->Readers()) statistics.readers += reader.state != 0;
    statistics.readers -= statistics.readers > 0;  // this one
    return statistics;
  }

  absl::Status Check() const override {
    absl::Status status;
    for (int attempt = 0; attempt < 10; ++attempt) {
      HEFT_ASSIGN_OR_RETURN(const LmdbTransaction transaction, environment_->Begin(false));
      status = transaction.file().CheckPages(transaction.get(), true);
      if (!absl::IsAborted(status)) break;
    }
    return status;
  }

 private:
  absl::Status CheckLock(const StoreLock& lock) const {
    const auto* const ours = dynamic_cast<const LmdbLock*>(&lock);
    if (ours != nullptr && ours->owner() == environment_.get()) return absl::OkStatus();
    return absl::InvalidArgumentError("this lock is of another store");
  }

  absl::Status Begun(int rc) const {
    return rc == 0 ? absl::OkStatus() : LmdbError("write to", environment_->folder(), rc);
  }

  const std::shared_ptr<LmdbEnvironment> environment_;
  const StoreMode mode_;
};

}  // namespace

std::string_view TableName(Table table) {
  static constexpr std::array<std::string_view, kTables> kNames = {
      "catalog", "head",    "blocks",    "block info", "roster",
      "names",   "samples", "journal",   "folds",      "quarantine",
      "waiting", "free",    "exchanges", "receipts",   "requests"};
  return kNames[static_cast<size_t>(table)];
}

absl::StatusOr<FileLock> LockStore(const std::string& folder, absl::Duration wait,
                                   absl::Duration patience) {
  constexpr char kBusy[] = "busy";
  constexpr absl::Duration kStep = absl::Milliseconds(2);
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
    absl::SleepFor(kStep);
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
  HEFT_ASSIGN_OR_RETURN(auto environment, LmdbEnvironment::Open(folder));
  for (const char* name : {"/store.mdb", "/store.mdb-lock", "/lock"}) NoteInput(folder + name);
  if (mode != StoreMode::kRead && !environment->writable()) {
    return absl::UnavailableError(
        absl::StrCat("the store in ", folder,
                     " cannot be written: give this user the permission, or open it for reading"));
  }
  return std::make_shared<LmdbStore>(std::move(environment), mode);
}

}  // namespace heft
