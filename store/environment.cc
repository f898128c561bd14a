// SPDX-License-Identifier: Apache-2.0
// A store's files, states and free pages, for all its users in this process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file_size_signal.h"
#include "store/sqlite.h"
#include "store/vfs.h"

namespace heft {
namespace {

constexpr size_t kMaxIdle = 8;  // connections
// Readers' marks are locked bytes of store.blocks, far behind its end.
constexpr off_t kMarks = off_t{1} << 61, kMarkRange = off_t{1} << 40;
// Pages of deleted values are used again when there are so many, or an eighth of all.
constexpr uint64_t kFewPages = (uint64_t{32} << 20) / kBlockPage;
// A change gives back so many bytes of the file at most.
constexpr uint64_t kGivenBack = uint64_t{64} << 20;
// A longer log is cut off before a transaction. SQLite begins to copy from a log of half these
// bytes.
constexpr uint64_t kLongLog = uint64_t{32} << 20;
// A longer log is cut off by the last user of a process that wrote: the next process would read all
// of it before it opens the store, 1 MiB in 0.5 ms.
constexpr uint64_t kLongLogAtEnd = uint64_t{1} << 20;

std::optional<StoreEnvironment::Id> FileId(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return StoreEnvironment::Id(info.st_dev, info.st_ino);
}

uint64_t BytesOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// Opened: the stores that this process has open. A forked child opens its own.
struct Opened {
  const pid_t process = getpid();
  std::mutex mutex;
  std::map<StoreEnvironment::Id, std::weak_ptr<StoreEnvironment>> all;

  static Opened& Get() {
    static std::atomic<Opened*> current = nullptr;
    Opened* opened = current.load();
    while (opened == nullptr || opened->process != getpid()) {
      auto* const made = new Opened;
      if (current.compare_exchange_strong(opened, made)) return *made;
      delete made;
    }
    return *opened;
  }
};

}  // namespace

Snapshot::~Snapshot() {
  if (database != nullptr) environment->Release(std::move(database));
}

absl::StatusOr<std::shared_ptr<StoreEnvironment>> StoreEnvironment::Open(
    const std::string& folder) {
  const auto id = FileId(StorePath(folder));
  if (!id) return SystemStoreError("open", folder, errno);
  Opened& opened = Opened::Get();
  const std::lock_guard<std::mutex> lock(opened.mutex);
  if (auto environment = opened.all[*id].lock()) return environment;
  std::shared_ptr<StoreEnvironment> environment(new StoreEnvironment(folder));
  environment->id_ = *id;
  HEFT_RETURN_IF_ERROR(environment->OpenFiles());
  std::erase_if(opened.all, [](const auto& entry) { return entry.second.expired(); });
  opened.all[*id] = environment;
  return environment;
}

absl::Status StoreEnvironment::OpenFiles() {
  writable_ = access(StorePath(folder_).c_str(), W_OK) == 0 &&
              access(BlocksPath(folder_).c_str(), W_OK) == 0;
  HEFT_ASSIGN_OR_RETURN(newest_, Connect());
  HEFT_ASSIGN_OR_RETURN(const StoreIdentity identity, StoreTables::CheckVersion(newest_.get()));
  HEFT_ASSIGN_OR_RETURN(blocks_,
                        BlockFile::Open(BlocksPath(folder_), folder_, writable_, identity));
  const auto last =
      newest_->Number("SELECT first + count FROM \"pages used\" ORDER BY first DESC LIMIT 1");
  // Only writers need this table.
  if (absl::IsDataLoss(last.status())) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(last.status());
  if (*last <= blocks_->Size() / kBlockPage) return absl::OkStatus();
  return UnmendableStore(folder_, "store.blocks is cut off");
}

StoreEnvironment::~StoreEnvironment() {
  if (writer_ != nullptr && CheckPlace().ok() && LogBytes() > kLongLogAtEnd) {
    // Unless another process writes: it will do this.
    const auto lock = LockStore(folder_, absl::ZeroDuration());
    if (lock.ok()) Settle(absl::ZeroDuration()).IgnoreError();
  }
  if (lock_ >= 0) close(lock_);
}

absl::Status StoreEnvironment::CheckPlace() const {
  if (getpid() != process_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store in ", folder_, " was opened before a fork: open it again"));
  }
  return FileId(StorePath(folder_)) == id_ ? absl::OkStatus() : ReplacedStore(folder_);
}

absl::StatusOr<std::unique_ptr<Database>> StoreEnvironment::Connect() const {
  HEFT_ASSIGN_OR_RETURN(auto database,
                        Database::Open(StorePath(folder_), folder_,
                                       writable_ ? Database::Mode::kWrite : Database::Mode::kRead));
  HEFT_RETURN_IF_ERROR(database->Number("SELECT count(*) FROM sqlite_schema").status());
  HEFT_RETURN_IF_ERROR(CheckPlace());
  return database;
}

absl::Status StoreEnvironment::BeginOn(Snapshot* snapshot) {
  HEFT_RETURN_IF_ERROR(snapshot->database->Run("BEGIN", "read"));
  HEFT_ASSIGN_OR_RETURN(snapshot->state, StoreTables(snapshot->database.get(), nullptr).State());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Snapshot>> StoreEnvironment::Read() {
  HEFT_RETURN_IF_ERROR(CheckPlace());
  std::shared_ptr<Snapshot> last;  // its end takes the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  HEFT_ASSIGN_OR_RETURN(const uint64_t state, StoreTables(newest_.get(), nullptr).State());
  last = snapshot_.lock();
  if (last != nullptr && last->state == state) return last;
  auto snapshot = std::make_shared<Snapshot>();
  if (idle_.empty()) {
    HEFT_ASSIGN_OR_RETURN(snapshot->database, Connect());
  } else {
    snapshot->database = std::move(idle_.back());
    idle_.pop_back();
  }
  if (const absl::Status begun = BeginOn(snapshot.get()); !begun.ok()) {
    snapshot->database = nullptr;
    return begun;
  }
  snapshot->environment = shared_from_this();
  snapshot_ = snapshot;
  return snapshot;
}

void StoreEnvironment::Release(std::unique_ptr<Database> database) {
  if (getpid() != process_) return;
  if (!database->Run("ROLLBACK", "read").ok()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(database));
}

off_t StoreEnvironment::BeginReader() {
  const std::lock_guard<std::mutex> lock(mutex_);
  off_t mark = kMarks + static_cast<off_t>(process_) * 4096 % kMarkRange;
  while (readers_.contains(mark) || LocksIn(blocks_->descriptor(), mark, mark + 1) != 0) ++mark;
  LockBytes(blocks_->descriptor(), F_RDLCK, mark, 1);
  readers_.insert(mark);
  return mark;
}

void StoreEnvironment::EndReader(off_t mark) {
  if (getpid() != process_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.erase(mark);
  LockBytes(blocks_->descriptor(), F_UNLCK, mark, 1);
}

absl::Status StoreEnvironment::OpenWriter() {
  HEFT_RETURN_IF_ERROR(CheckPlace());
  if (writer_ == nullptr) {
    HEFT_ASSIGN_OR_RETURN(writer_, Connect());
    // A long row's pages begin with the next one's number: from 2^25 on, ClearGap would take them
    // for pages of tables.
    HEFT_RETURN_IF_ERROR(
        writer_->Run("PRAGMA cache_size = -65536; PRAGMA max_page_count = 33554431", "write to"));
  }
  if (lock_ < 0) lock_ = open(absl::StrCat(folder_, "/lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock_ < 0) return SystemStoreError("write to", folder_, errno);
  uint8_t committing = 0;
  return pread(lock_, &committing, 1, 0) == 1 && committing != 0 ? Repair() : absl::OkStatus();
}

// Repair: an empty commit overwrites one that was begun and that no state has.
absl::Status StoreEnvironment::Repair() {
  absl::Status status =
      writer_->Run("BEGIN IMMEDIATE; UPDATE store SET state = state; COMMIT", "write to");
  if (!sqlite3_get_autocommit(writer_->get())) writer_->Run("ROLLBACK", "write to").IgnoreError();
  if (status.ok() && !WriteZeros(lock_, 0, 1))
    status = SystemStoreError("write to", folder_, errno);
  return status;
}

absl::Status StoreEnvironment::Commit() {
  return CommitBy([&] { return writer_->Run("COMMIT", "write to"); });
}

absl::Status StoreEnvironment::CommitBy(const std::function<absl::Status()>& commit) {
  constexpr std::array<uint8_t, 1> kCommitting = {1};
  const NoFileSizeSignal no_signal;
  if (!WriteAt(lock_, kCommitting, 0)) return SystemStoreError("write to", folder_, errno);
  const absl::Status status = commit();
  if (status.ok()) {
    WriteZeros(lock_, 0, 1);  // or the next transaction repairs in vain
    return status;
  }
  if (!sqlite3_get_autocommit(writer_->get())) writer_->Run("ROLLBACK", "write to").IgnoreError();
  Repair().IgnoreError();
  return status;
}

// LoadSpace: in a transaction.
absl::Status StoreEnvironment::LoadSpace() {
  const StoreTables tables(writer_.get(), blocks_.get());
  HEFT_ASSIGN_OR_RETURN(const uint64_t state, tables.State());
  if (space_state_ == state) return absl::OkStatus();
  space = {};
  HEFT_ASSIGN_OR_RETURN(std::vector<PageRange> used, tables.Used());
  HEFT_ASSIGN_OR_RETURN(const std::vector<PageRange> freed, tables.Freed());
  if (!used.empty() && used.back().end() > blocks_->Size() / kBlockPage) {
    return UnmendableStore(folder_, "store.blocks is cut off");
  }
  for (const PageRange& range : freed) space.freed += range.count;
  used.insert(used.end(), freed.begin(), freed.end());
  std::ranges::sort(used);
  space.free = FreePages(used);
  space_state_ = state;
  return absl::OkStatus();
}

// Reclaim: makes freed pages usable if no state with them is read, and gives some back. Begins and
// ends in the writer's transaction.
absl::Status StoreEnvironment::Reclaim() {
  const uint64_t many = std::max({kFewPages, space.free.end() / 8, try_freed_});
  if (space.freed <= many) return absl::OkStatus();
  try_freed_ = space.freed + space.freed / 8;
  HEFT_RETURN_IF_ERROR(writer_->Run("ROLLBACK", "write to"));
  const absl::Status settled = Settle(absl::ZeroDuration());
  HEFT_RETURN_IF_ERROR(writer_->Run("BEGIN IMMEDIATE", "write to"));
  if (!settled.ok()) return absl::OkStatus();
  try_freed_ = 0;
  StoreTables tables(writer_.get(), blocks_.get());
  HEFT_RETURN_IF_ERROR(tables.ForgetFreed());
  space_state_.reset();
  HEFT_RETURN_IF_ERROR(LoadSpace());
  if (space.free.pages() <= std::max(2 * kFewPages, space.free.end() / 4)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::vector<PageRange> used, tables.Used());
  blocks_->Erase(used, kGivenBack).IgnoreError();  // only to save space
  return absl::OkStatus();
}

absl::StatusOr<Database*> StoreEnvironment::Begin() {
  HEFT_RETURN_IF_ERROR(OpenWriter());
  CutLongLog();
  HEFT_RETURN_IF_ERROR(writer_->Run("BEGIN IMMEDIATE", "write to"));
  absl::Status status = LoadSpace();
  if (status.ok()) status = Reclaim();
  if (status.ok()) return writer_.get();
  Ended(std::nullopt);
  return status;
}

void StoreEnvironment::Ended(std::optional<uint64_t> state) {
  if (!sqlite3_get_autocommit(writer_->get())) writer_->Run("ROLLBACK", "write to").IgnoreError();
  space.taken.clear();
  space_state_ = state;
}

// Renew: lets the readers of the newest state read it from the database instead of from the log.
void StoreEnvironment::Renew() {
  std::shared_ptr<Snapshot> snapshot;  // its end takes the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto state = StoreTables(newest_.get(), nullptr).State();
  snapshot = snapshot_.lock();
  if (!state.ok() || snapshot == nullptr || snapshot->state != *state) return;
  const std::lock_guard<std::mutex> reading(snapshot->mutex);
  if (snapshot->database == nullptr) return;
  const bool renewed = snapshot->database->Run("ROLLBACK", "read").ok() &&
                       BeginOn(snapshot.get()).ok() && snapshot->state == *state;
  if (!renewed) snapshot->database = nullptr;
}

// Settle: waits until no state but the newest is read, copies the log into the database, and cuts
// it off, durably. SQLite's log can only be cut off then.
absl::Status StoreEnvironment::Settle(absl::Duration wait) {
  const NoFileSizeSignal no_signal;
  const absl::Time end = absl::Now() + wait;
  while (true) {
    ClearVfsError();
    sqlite3_busy_timeout(writer_->get(), 0);
    int rc = sqlite3_wal_checkpoint_v2(writer_->get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr,
                                       nullptr);
    if (rc == SQLITE_OK) {
      Renew();
      rc = sqlite3_wal_checkpoint_v2(writer_->get(), "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                                     nullptr);
    }
    sqlite3_busy_timeout(writer_->get(), 5000);
    if (rc == SQLITE_OK) break;
    if ((rc & 0xff) != SQLITE_BUSY) return StoreError("scrub", folder_, rc);
    if (absl::Now() >= end) {
      return absl::UnavailableError(absl::StrCat(
          "data that was deleted from the store in ", folder_,
          " is still read by a process: it stays on the disk until the store is scrubbed again"));
    }
    HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
    absl::SleepFor(absl::Milliseconds(1));
  }
  // Its pages in memory may have remains of moved entries, which the database does not have.
  sqlite3_db_release_memory(writer_->get());
  return absl::OkStatus();
}

uint64_t StoreEnvironment::LogBytes() const { return BytesOf(StorePath(folder_) + "-wal"); }

// CutLongLog: unless an older state is read.
void StoreEnvironment::CutLongLog() {
  if (LogBytes() > kLongLog) Settle(absl::ZeroDuration()).IgnoreError();
}

absl::Status StoreEnvironment::Scrub(absl::Duration wait) {
  HEFT_RETURN_IF_ERROR(OpenWriter());
  HEFT_ASSIGN_OR_RETURN(const uint64_t unused, writer_->Number("PRAGMA freelist_count"));
  HEFT_ASSIGN_OR_RETURN(const uint64_t pages, writer_->Number("PRAGMA page_count"));
  if (unused > pages / 8) {
    HEFT_RETURN_IF_ERROR(writer_->Run("PRAGMA incremental_vacuum(4096)", "scrub"));
  }
  HEFT_RETURN_IF_ERROR(Settle(wait));
  HEFT_RETURN_IF_ERROR(writer_->Run("BEGIN IMMEDIATE", "scrub"));
  StoreTables tables(writer_.get(), blocks_.get());
  const auto scrub = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const std::vector<PageRange> used, tables.Used());
    HEFT_RETURN_IF_ERROR(blocks_->Erase(used));
    HEFT_ASSIGN_OR_RETURN(const std::vector<PageRange> freed, tables.Freed());
    if (freed.empty()) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(tables.ForgetFreed());
    return writer_->Run("COMMIT", "scrub");
  };
  const absl::Status status = scrub();
  Ended(std::nullopt);
  return status;
}

// Remake: in memory, because names of people may be in no other file. A copy of all pages is
// one commit.
absl::Status StoreEnvironment::Remake(absl::Duration wait) {
  HEFT_RETURN_IF_ERROR(Settle(wait));
  HEFT_ASSIGN_OR_RETURN(const StoreIdentity identity, StoreTables::CheckVersion(writer_.get()));
  HEFT_ASSIGN_OR_RETURN(const auto made,
                        Database::Open(":memory:", folder_, Database::Mode::kBuild));
  HEFT_RETURN_IF_ERROR(made->Run("PRAGMA foreign_keys = OFF; BEGIN", "mend"));
  HEFT_RETURN_IF_ERROR(StoreTables::Make(made.get(), identity));
  HEFT_RETURN_IF_ERROR(StoreTables::Salvage(writer_.get(), made.get()));
  StoreTables tables(made.get(), nullptr);
  HEFT_ASSIGN_OR_RETURN(const uint64_t state, StoreTables(writer_.get(), nullptr).State());
  HEFT_RETURN_IF_ERROR(tables.SetState(state + 1));
  // A reader of the newest state may have blocks whose rows are lost.
  HEFT_RETURN_IF_ERROR(made->Run(
      absl::StrCat(
          "INSERT INTO \"pages freed\" SELECT * FROM (SELECT first + count, lead(first, 1, ",
          blocks_->Size() / kBlockPage, ") OVER (ORDER BY first) - first - count AS gap, ",
          state + 1, " FROM (SELECT 1 AS first, 0 AS count UNION ALL SELECT first, count FROM ",
          "\"pages used\")) WHERE gap > 0; COMMIT")
          .c_str(),
      "mend"));
  return CommitBy([&] { return writer_->CopyOf(*made, "mend"); });
}

// ClearPages: other programs may have deleted rows without secure_delete. Any mix of a page's old
// and new bytes has the same rows, so readers may read meanwhile; no program may copy from the log.
absl::Status StoreEnvironment::ClearPages() {
  constexpr int kCopying = 1;  // SQLite's number of this lock (WAL_CKPT_LOCK)
  HEFT_RETURN_IF_ERROR(writer_->Run("PRAGMA incremental_vacuum", "scrub"));
  sqlite3_file* file = nullptr;
  sqlite3_file_control(writer_->get(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  const sqlite3_io_methods& does = *file->pMethods;
  int rc = does.xShmLock(file, kCopying, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
  if (rc != SQLITE_OK) return StoreError("scrub", folder_, rc);
  std::vector<uint8_t> page(kBlockPage), clear;
  sqlite3_int64 size = 0;
  rc = does.xFileSize(file, &size);
  // Bytes that are no whole page are of no use.
  const sqlite3_int64 rest = size % kBlockPage;
  if (rc == SQLITE_OK && rest != 0) rc = does.xTruncate(file, size -= rest);
  for (sqlite3_int64 at = 0; rc == SQLITE_OK && at < size; at += kBlockPage) {
    rc = does.xRead(file, page.data(), kBlockPage, at);
    clear = page;
    ClearGap(clear, static_cast<uint32_t>(at / kBlockPage + 1));
    if (rc == SQLITE_OK && clear != page) rc = does.xWrite(file, clear.data(), kBlockPage, at);
  }
  if (rc == SQLITE_OK) rc = does.xSync(file, SQLITE_SYNC_NORMAL);
  does.xShmLock(file, kCopying, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
  return rc == SQLITE_OK ? absl::OkStatus() : StoreError("scrub", folder_, rc);
}

absl::StatusOr<bool> StoreEnvironment::Rebuild(absl::Duration wait) {
  const NoFileSizeSignal no_signal;
  HEFT_RETURN_IF_ERROR(OpenWriter());
  space_state_.reset();
  const absl::Status status = Check();
  const bool damaged = absl::IsDataLoss(status);
  HEFT_RETURN_IF_ERROR(damaged ? Remake(wait) : status);
  HEFT_RETURN_IF_ERROR(ClearPages());
  return damaged;
}

uint64_t StoreEnvironment::Readers() const {
  const int fd = blocks_->descriptor();
  return LocksIn(fd, kMarks, kMarks + 2 * kMarkRange);
}

absl::StatusOr<StoreStatistics> StoreEnvironment::Statistics() {
  StoreStatistics statistics;
  HEFT_ASSIGN_OR_RETURN(const auto snapshot, Read());
  {
    const std::lock_guard<std::mutex> reading(snapshot->mutex);
    if (snapshot->database == nullptr) return StoreError("read", folder_, SQLITE_IOERR);
    Database& database = *snapshot->database;
    HEFT_ASSIGN_OR_RETURN(const uint64_t pages, database.Number("PRAGMA page_count"));
    HEFT_ASSIGN_OR_RETURN(const uint64_t unused, database.Number("PRAGMA freelist_count"));
    HEFT_ASSIGN_OR_RETURN(const uint64_t blocks,
                          database.Number("SELECT sum(count) FROM \"pages used\""));
    statistics.live_bytes = (pages - unused + 1 + blocks) * kBlockPage;
  }
  const std::string path = StorePath(folder_);
  statistics.bytes = std::max(statistics.live_bytes,
                              BytesOf(path) + BytesOf(path + "-wal") + blocks_->Allocated());
  statistics.free_bytes = statistics.bytes - statistics.live_bytes;
  const std::lock_guard<std::mutex> lock(mutex_);
  statistics.readers = readers_.size() + Readers();
  return statistics;
}

// Check: with a connection of its own, so that no reader waits.
absl::Status StoreEnvironment::Check() {
  HEFT_ASSIGN_OR_RETURN(const auto database, Connect());
  HEFT_RETURN_IF_ERROR(database->Run("BEGIN", "check"));
  return StoreTables(database.get(), blocks_.get()).Check();
}

}  // namespace heft
