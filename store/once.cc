// SPDX-License-Identifier: Apache-2.0
#include "store/once.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/bytes.h"
#include "base/file_size_signal.h"
#include "base/files.h"
#include "base/status.h"
#include "base/used_files.h"
#include "store/sqlite.h"

namespace heft {
namespace {

constexpr uint64_t kOnceApplication = 0x48464F4E, kOnceVersion = 1;  // "HFON"
// The triggers keep the sums that the limits need. A sum over all entries would take too long.
constexpr char kOnceSchema[] =
    "CREATE TABLE once (scope TEXT NOT NULL, key BLOB NOT NULL, digest BLOB NOT NULL,"
    " result BLOB NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID;"
    "CREATE INDEX ends ON once (scope, expires);"
    "CREATE TABLE scopes (scope TEXT PRIMARY KEY, entries INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TRIGGER added AFTER INSERT ON once BEGIN"
    " INSERT INTO scopes VALUES (new.scope, 1, length(new.result)) ON CONFLICT (scope) DO UPDATE"
    " SET entries = entries + 1, bytes = bytes + length(new.result); END;"
    "CREATE TRIGGER removed AFTER DELETE ON once BEGIN"
    " UPDATE scopes SET entries = entries - 1, bytes = bytes - length(old.result)"
    " WHERE scope = old.scope; END;";
constexpr char kInsertOnce[] = "INSERT OR IGNORE INTO once VALUES (?, ?, ?, ?, ?)";
constexpr size_t kFewForgotten = 16;  // expired entries that go with each new one
constexpr size_t kMostOpen = 16;      // tables that a process keeps open
constexpr size_t kCheckSize = 8;      // bytes behind each result
constexpr uint64_t kForever = std::numeric_limits<int64_t>::max();

// CheckOf: SQLite itself does not notice flipped bits.
std::string CheckOf(const OnceTable::Entry& entry) {
  ByteWriter writer;
  writer.String(entry.key);
  writer.String(entry.digest);
  writer.U64(entry.expires);
  writer.String(entry.result);
  const Hash hash = HashBytes(writer.bytes());
  return {hash.begin(), hash.begin() + kCheckSize};
}

std::string Text(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

void BindScope(SqlStatement* statement, const OnceTable::Scope& scope) {
  statement->Bind(1, Cell(AsBytes(scope.name)), SqlType::kText);
}

absl::Status Damaged(const std::string& path) {
  return OfStore(absl::DataLossError(
      absl::StrCat(path,
                   ": damaged: replace it, its -wal and its -shm by good copies. Without "
                   "copies, move all three away; then what was done once could be done again "
                   "until it expires")));
}

// Explained: an error of a database, for this file.
absl::Status Explained(const std::string& path, const absl::Status& status) {
  if (absl::IsDataLoss(status)) return Damaged(path);
  return {status.code(), absl::StrReplaceAll(status.message(), {{"the store in ", ""}})};
}

absl::Status CheckTable(Database* database) {
  HEFT_ASSIGN_OR_RETURN(const uint64_t application, database->Number("PRAGMA application_id"));
  HEFT_ASSIGN_OR_RETURN(const uint64_t version, database->Number("PRAGMA user_version"));
  if (application != kOnceApplication || version != kOnceVersion)
    return absl::DataLossError("another's");
  // The index repeats the keys, so this finds a key with a flipped bit.
  HEFT_ASSIGN_OR_RETURN(const auto said, database->Texts("PRAGMA integrity_check(1)"));
  return said == std::vector<std::string>{"ok"} ? absl::OkStatus() : absl::DataLossError("pages");
}

absl::Status MakeTable(Database* database) {
  return database->Run(absl::StrCat("PRAGMA application_id = ", kOnceApplication,
                                    "; PRAGMA user_version = ", kOnceVersion, ";", kOnceSchema)
                           .c_str(),
                       "make");
}

absl::Status CopyRows(Database* from, Database* to) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select, from->Prepare("SELECT * FROM once"));
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert, to->Prepare(kInsertOnce));
  SqlStatement row(select);
  int rc;
  while ((rc = row.Step()) == SQLITE_ROW) {
    SqlStatement copy(insert);
    copy.Bind(1, row.Value(0, SqlType::kText), SqlType::kText);
    for (int i = 1; i < 4; ++i) copy.Bind(i + 1, row.Bytes(i));
    if (const int done = copy.Bind(5, row.Number(4)).Step(); done != SQLITE_DONE) {
      return StoreError("make", to->folder(), done);
    }
  }
  return rc == SQLITE_DONE ? absl::OkStatus() : StoreError("read", from->folder(), rc);
}

}  // namespace

OnceTable::OnceTable(std::string path) : path_(std::move(path)) {}
OnceTable::~OnceTable() = default;

std::shared_ptr<OnceTable> OnceTable::Of(const std::string& path) {
  static std::mutex mutex;
  static auto& tables = *new std::map<std::string, std::shared_ptr<OnceTable>>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (tables.size() >= kMostOpen && !tables.contains(path)) tables.clear();
  std::shared_ptr<OnceTable>& table = tables[path];
  if (table == nullptr) table = std::make_shared<OnceTable>(path);
  return table;
}

bool OnceTable::Connected() const {
  if (database_ == nullptr || path_.empty()) return database_ != nullptr;
  struct stat info;
  return process_ == getpid() && stat(path_.c_str(), &info) == 0 &&
         file_ == std::pair(info.st_dev, info.st_ino);
}

absl::Status OnceTable::Connect() {
  if (Connected()) return absl::OkStatus();
  database_.reset();
  if (path_.empty()) {
    HEFT_ASSIGN_OR_RETURN(auto made, Database::Open(":memory:", "memory", Database::Mode::kBuild));
    HEFT_RETURN_IF_ERROR(made->Run("PRAGMA journal_mode = MEMORY", "make"));
    HEFT_RETURN_IF_ERROR(MakeTable(made.get()));
    database_ = std::move(made);
    return absl::OkStatus();
  }
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) {
    if (errno != ENOENT) return SystemStoreError("open", path_, errno);
    HEFT_RETURN_IF_ERROR(BuildDatabase(path_, path_, MakeTable));
    if (stat(path_.c_str(), &info) != 0) return SystemStoreError("open", path_, errno);
  }
  HEFT_ASSIGN_OR_RETURN(auto opened, Database::Open(path_, path_, Database::Mode::kWrite));
  HEFT_RETURN_IF_ERROR(CheckTable(opened.get()));
  NoteInput(path_);
  // The longest log is 4 MB, which is read at the first use. With more pages ClearGap errs.
  HEFT_RETURN_IF_ERROR(
      opened->Run("PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 1000;"
                  "PRAGMA max_page_count = 33554431",
                  "open"));
  database_ = std::move(opened);
  process_ = getpid();
  file_ = {info.st_dev, info.st_ino};
  durable_ = true;
  return absl::OkStatus();
}

// The lock comes first. So writers of other processes wait without SQLite's pauses, and Connect
// sees whether the file was replaced while this one waited.
absl::Status OnceTable::Change(const Scope& scope,
                               const std::function<absl::StatusOr<bool>()>& change) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const NoFileSizeSignal no_signal;
  std::optional<FileLock> lock;
  if (!path_.empty()) {
    HEFT_ASSIGN_OR_RETURN(FileLock taken, FileLock::Take(LockPath(path_), 0600));
    lock.emplace(std::move(taken));
  }
  absl::Status status = Connect();
  if (status.ok() && durable_ != scope.durable && !path_.empty()) {
    status = database_->Run(
        scope.durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", "write to");
    durable_ = scope.durable;
  }
  if (status.ok()) status = Step("BEGIN IMMEDIATE");
  if (!status.ok()) return Explained(path_, status);
  const absl::StatusOr<bool> changed = change();
  status = changed.ok() && *changed ? Step("COMMIT") : changed.status();
  if (!sqlite3_get_autocommit(database_->get())) Step("ROLLBACK").IgnoreError();
  return absl::IsResourceExhausted(status) ? status : Explained(path_, status);
}

absl::Status OnceTable::Step(const char* sql) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, database_->Prepare(sql));
  return Done(SqlStatement(statement).Step());
}

absl::Status OnceTable::Done(int rc) const {
  return rc == SQLITE_DONE ? absl::OkStatus() : StoreError("write to", path_, rc);
}

// Meets: no entry's key begins with another's. So the nearest keys show all that meet this one.
absl::StatusOr<bool> OnceTable::Meets(const Scope& scope, std::string_view key) {
  for (const bool next : {false, true}) {
    HEFT_ASSIGN_OR_RETURN(
        sqlite3_stmt* const select,
        database_->Prepare(next ? "SELECT key FROM once WHERE scope = ? AND key >= ? "
                                  "ORDER BY key LIMIT 1"
                                : "SELECT key FROM once WHERE scope = ? AND key < ? "
                                  "ORDER BY key DESC LIMIT 1"));
    SqlStatement row(select);
    BindScope(&row, scope);
    const int rc = row.Bind(2, AsBytes(key)).Step();
    if (rc == SQLITE_DONE) continue;
    if (rc != SQLITE_ROW) return Done(rc);
    const std::string there = Text(row.Bytes(0));
    if (next ? there.starts_with(key) : key.starts_with(there)) return true;
  }
  return false;
}

absl::Status OnceTable::Forget(const Scope& scope, uint64_t before, uint64_t count) {
  HEFT_ASSIGN_OR_RETURN(
      sqlite3_stmt* const statement,
      database_->Prepare("DELETE FROM once WHERE scope = ?1 AND key IN (SELECT key FROM once "
                         "WHERE scope = ?1 AND expires < ?2 ORDER BY expires LIMIT ?3)"));
  SqlStatement forget(statement);
  BindScope(&forget, scope);
  return Done(forget.Bind(2, before).Bind(3, count).Step());
}

// MakeRoom: more expired entries go than come. So these alone never fill a table.
absl::Status OnceTable::MakeRoom(const Scope& scope, std::span<const Entry> entries, uint64_t now) {
  HEFT_RETURN_IF_ERROR(Forget(scope, now, entries.size() + kFewForgotten));
  uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.result.size() + kCheckSize;
  while (true) {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement,
                          database_->Prepare("SELECT entries, bytes FROM scopes WHERE scope = ?"));
    SqlStatement select(statement);
    BindScope(&select, scope);
    const int rc = select.Step();  // without a row, the numbers are 0
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return Done(rc);
    const uint64_t there = select.Number(0);
    if (there + entries.size() <= scope.most_entries &&
        select.Number(1) + bytes <= scope.most_bytes) {
      return absl::OkStatus();
    }
    if (!scope.oldest_goes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ": ", there, " entries of \"", std::string(scope.name),
                       "\" have not expired, and no more can be kept: try again later"));
    }
    if (there == 0) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(Forget(scope, kForever, 1));
  }
}

absl::Status OnceTable::Insert(const Scope& scope, const Entry& entry) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert, database_->Prepare(kInsertOnce));
  Entry kept = entry;
  kept.expires = std::min(kept.expires, kForever);
  kept.result += CheckOf(kept);
  SqlStatement row(insert);
  BindScope(&row, scope);
  row.Bind(2, AsBytes(kept.key)).Bind(3, AsBytes(kept.digest)).Bind(4, AsBytes(kept.result));
  return Done(row.Bind(5, kept.expires).Step());
}

absl::Status OnceTable::Delete(const Scope& scope, std::string_view key) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement,
                        database_->Prepare("DELETE FROM once WHERE scope = ? AND key = ?"));
  SqlStatement row(statement);
  BindScope(&row, scope);
  return Done(row.Bind(2, AsBytes(key)).Step());
}

absl::StatusOr<std::optional<size_t>> OnceTable::Take(const Scope& scope,
                                                      std::span<const Entry> entries,
                                                      uint64_t now) {
  std::optional<size_t> known;
  HEFT_RETURN_IF_ERROR(Change(scope, [&]() -> absl::StatusOr<bool> {
    HEFT_RETURN_IF_ERROR(MakeRoom(scope, entries, now));
    for (size_t i = 0; i < entries.size(); ++i) {
      HEFT_ASSIGN_OR_RETURN(const bool there, Meets(scope, entries[i].key));
      if (!there) continue;
      known = i;
      return false;
    }
    for (const Entry& entry : entries) HEFT_RETURN_IF_ERROR(Insert(scope, entry));
    return true;
  }));
  return known;
}

absl::Status OnceTable::Put(const Scope& scope, const Entry& entry, uint64_t now) {
  return Change(scope, [&]() -> absl::StatusOr<bool> {
    HEFT_RETURN_IF_ERROR(Delete(scope, entry.key));
    HEFT_RETURN_IF_ERROR(MakeRoom(scope, {&entry, 1}, now));
    HEFT_RETURN_IF_ERROR(Insert(scope, entry));
    return true;
  });
}

absl::Status OnceTable::Remove(const Scope& scope, std::string_view key) {
  return Change(scope, [&]() -> absl::StatusOr<bool> {
    HEFT_RETURN_IF_ERROR(Delete(scope, key));
    return true;
  });
}

absl::Status OnceTable::Read(const std::function<absl::Status()>& read) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const NoFileSizeSignal no_signal;
  if (!Connected()) {
    std::optional<FileLock> lock;
    if (!path_.empty()) {
      HEFT_ASSIGN_OR_RETURN(FileLock taken, FileLock::Take(LockPath(path_), 0600));
      lock.emplace(std::move(taken));
    }
    if (const absl::Status status = Connect(); !status.ok()) return Explained(path_, status);
  }
  return Explained(path_, read());
}

absl::StatusOr<std::optional<OnceTable::Entry>> OnceTable::Find(const Scope& scope,
                                                                std::string_view key,
                                                                uint64_t now) {
  std::optional<Entry> found;
  HEFT_RETURN_IF_ERROR(Read([&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select,
                          database_->Prepare("SELECT digest, result, expires FROM once WHERE "
                                             "scope = ? AND key = ? AND expires >= ?"));
    SqlStatement row(select);
    BindScope(&row, scope);
    const int rc = row.Bind(2, AsBytes(key)).Bind(3, std::min(now, kForever)).Step();
    if (rc != SQLITE_ROW) return Done(rc);
    Entry entry = {std::string(key), Text(row.Bytes(0)), Text(row.Bytes(1)), row.Number(2)};
    const size_t size = std::max(entry.result.size(), kCheckSize) - kCheckSize;
    const std::string check = entry.result.substr(size);
    entry.result.resize(size);
    if (check != CheckOf(entry)) return absl::DataLossError("an entry");
    found = std::move(entry);
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<uint64_t> OnceTable::Count(const Scope& scope) {
  uint64_t count = 0;
  HEFT_RETURN_IF_ERROR(Read([&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement,
                          database_->Prepare("SELECT entries FROM scopes WHERE scope = ?"));
    SqlStatement select(statement);
    BindScope(&select, scope);
    const int rc = select.Step();
    if (rc != SQLITE_ROW) return Done(rc);
    count = select.Number(0);
    return absl::OkStatus();
  }));
  return count;
}

absl::Status OnceTable::Sync() const {
  return path_.empty() ? absl::OkStatus()
                       : Explained(path_, SyncFile(absl::StrCat(path_, "-wal"), path_));
}

absl::Status OnceTable::Copy(const std::string& from, const std::string& to) {
  const auto copy = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const auto source, Database::Open(from, from, Database::Mode::kRead));
    HEFT_RETURN_IF_ERROR(CheckTable(source.get()));
    return BuildDatabase(to, to, [&](Database* database) -> absl::Status {
      HEFT_RETURN_IF_ERROR(MakeTable(database));
      return CopyRows(source.get(), database);
    });
  };
  return Explained(from, copy());
}

}  // namespace heft
