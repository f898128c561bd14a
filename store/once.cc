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
#include "store/vfs.h"

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

// Explained: an error of a database, for this file.
absl::Status Explained(const std::string& path, const absl::Status& status) {
  if (!absl::IsDataLoss(status)) {
    return {status.code(), absl::StrReplaceAll(status.message(), {{"the store in ", ""}})};
  }
  return OfStore(absl::DataLossError(absl::StrCat(
      path,
      ": damaged: replace it, its -wal and its -shm by good copies. Without copies, move all three "
      "away; then what was done once could be done again until it expires")));
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
absl::Status OnceTable::With(const Scope* change,
                             const std::function<absl::StatusOr<bool>()>& work) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const NoFileSizeSignal no_signal;
  ClearVfsError();
  std::optional<FileLock> lock;
  if (!path_.empty() && (change != nullptr || !Connected())) {
    HEFT_ASSIGN_OR_RETURN(FileLock taken, FileLock::Take(LockPath(path_), 0600));
    lock.emplace(std::move(taken));
  }
  absl::Status status = Connect();
  if (change != nullptr && status.ok()) status = Begin(change->durable);
  if (!status.ok()) return Explained(path_, status);
  const absl::StatusOr<bool> changed = work();
  status = changed.ok() && *changed ? Step("COMMIT") : changed.status();
  if (!sqlite3_get_autocommit(database_->get())) Step("ROLLBACK").IgnoreError();
  return absl::IsResourceExhausted(status) ? status : Explained(path_, status);
}

absl::Status OnceTable::Begin(bool durable) {
  if (durable_ != durable) {
    HEFT_RETURN_IF_ERROR(database_->Run(
        durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", "write to"));
    durable_ = durable;
  }
  return Step("BEGIN IMMEDIATE");
}

absl::Status OnceTable::Step(const char* sql) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, database_->Prepare(sql));
  return Done(SqlStatement(statement).Step());
}

absl::Status OnceTable::Done(int rc) const {
  return rc == SQLITE_DONE ? absl::OkStatus() : StoreError("write to", path_, rc);
}

absl::StatusOr<sqlite3_stmt*> OnceTable::Prepare(const char* sql, const Scope& scope) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, database_->Prepare(sql));
  sqlite3_bind_text64(statement, 1, scope.name.data(), scope.name.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return statement;
}

// Meets: no entry's key begins with another's. So the nearest keys show all that meet this one.
// Those that have expired go.
absl::StatusOr<bool> OnceTable::Meets(const Scope& scope, std::string_view key, uint64_t now) {
  for (bool next = false;;) {
    HEFT_ASSIGN_OR_RETURN(
        sqlite3_stmt* const select,
        Prepare(next ? "SELECT key, expires FROM once WHERE scope = ? AND key >= ? "
                       "ORDER BY key LIMIT 1"
                     : "SELECT key, expires FROM once WHERE scope = ? AND key < ? "
                       "ORDER BY key DESC LIMIT 1",
                scope));
    std::string there;
    {
      SqlStatement row(select);
      const int rc = row.Bind(2, AsBytes(key)).Step();
      if (rc != SQLITE_ROW && rc != SQLITE_DONE) return Done(rc);
      there = Text(row.Bytes(0));
      const bool meets =
          rc == SQLITE_ROW && (next ? there.starts_with(key) : key.starts_with(there));
      if (meets && row.Number(1) >= now) return true;
      if (!meets && std::exchange(next, true)) return false;
      if (!meets) continue;
    }
    HEFT_RETURN_IF_ERROR(Delete(scope, there));
  }
}

absl::Status OnceTable::Forget(const Scope& scope, uint64_t before, uint64_t count) {
  HEFT_ASSIGN_OR_RETURN(
      sqlite3_stmt* const forget,
      Prepare("DELETE FROM once WHERE scope = ?1 AND key IN (SELECT key FROM once "
              "WHERE scope = ?1 AND expires < ?2 ORDER BY expires LIMIT ?3)",
              scope));
  return Done(SqlStatement(forget).Bind(2, before).Bind(3, count).Step());
}

// MakeRoom: more expired entries go than come. So these alone never fill a table.
absl::Status OnceTable::MakeRoom(const Scope& scope, std::span<const Entry> entries, uint64_t now) {
  HEFT_RETURN_IF_ERROR(Forget(scope, now, entries.size() + kFewForgotten));
  uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.result.size() + kCheckSize;
  while (true) {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement,
                          Prepare("SELECT entries, bytes FROM scopes WHERE scope = ?", scope));
    SqlStatement select(statement);
    const int rc = select.Step();  // without a row, the numbers are 0
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return Done(rc);
    const uint64_t there = select.Number(0);
    const bool fits = there + entries.size() <= scope.most_entries &&
                      select.Number(1) + bytes <= scope.most_bytes;
    if (fits || (there == 0 && scope.oldest_goes)) return absl::OkStatus();
    if (!scope.oldest_goes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ": ", there, " entries of \"", std::string(scope.name),
                       "\" have not expired, and no more can be kept: try again later"));
    }
    HEFT_RETURN_IF_ERROR(Forget(scope, kForever, 1));
  }
}

absl::Status OnceTable::Insert(const Scope& scope, Entry entry) {
  entry.expires = std::min(entry.expires, kForever);
  entry.result += CheckOf(entry);
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert, Prepare(kInsertOnce, scope));
  SqlStatement row(insert);
  row.Bind(2, AsBytes(entry.key)).Bind(3, AsBytes(entry.digest)).Bind(4, AsBytes(entry.result));
  return Done(row.Bind(5, entry.expires).Step());
}

absl::Status OnceTable::Delete(const Scope& scope, std::string_view key) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const row,
                        Prepare("DELETE FROM once WHERE scope = ? AND key = ?", scope));
  return Done(SqlStatement(row).Bind(2, AsBytes(key)).Step());
}

absl::StatusOr<std::optional<size_t>> OnceTable::Take(const Scope& scope,
                                                      std::span<const Entry> entries,
                                                      uint64_t now) {
  std::optional<size_t> known;
  HEFT_RETURN_IF_ERROR(With(&scope, [&]() -> absl::StatusOr<bool> {
    for (size_t i = 0; i < entries.size(); ++i) {
      HEFT_ASSIGN_OR_RETURN(const bool there, Meets(scope, entries[i].key, now));
      if (!there) continue;
      known = i;
      return false;
    }
    HEFT_RETURN_IF_ERROR(MakeRoom(scope, entries, now));
    for (const Entry& entry : entries) HEFT_RETURN_IF_ERROR(Insert(scope, entry));
    return true;
  }));
  return known;
}

absl::Status OnceTable::Put(const Scope& scope, const Entry& entry, uint64_t now) {
  return With(&scope, [&]() -> absl::StatusOr<bool> {
    HEFT_RETURN_IF_ERROR(Delete(scope, entry.key));
    HEFT_RETURN_IF_ERROR(MakeRoom(scope, {&entry, 1}, now));
    HEFT_RETURN_IF_ERROR(Insert(scope, entry));
    return true;
  });
}

absl::Status OnceTable::Remove(const Scope& scope, std::string_view key) {
  return With(&scope, [&]() -> absl::StatusOr<bool> {
    HEFT_RETURN_IF_ERROR(Delete(scope, key));
    return true;
  });
}

absl::StatusOr<std::optional<OnceTable::Entry>> OnceTable::Find(const Scope& scope,
                                                                std::string_view key,
                                                                uint64_t now) {
  std::optional<Entry> found;
  HEFT_RETURN_IF_ERROR(With(nullptr, [&]() -> absl::StatusOr<bool> {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select,
                          Prepare("SELECT digest, result, expires FROM once WHERE "
                                  "scope = ? AND key = ? AND expires >= ?",
                                  scope));
    SqlStatement row(select);
    const int rc = row.Bind(2, AsBytes(key)).Bind(3, now).Step();
    if (rc == SQLITE_DONE) return false;
    if (rc != SQLITE_ROW) return Done(rc);
    Entry entry = {std::string(key), Text(row.Bytes(0)), Text(row.Bytes(1)), row.Number(2)};
    const size_t size = std::max(entry.result.size(), kCheckSize) - kCheckSize;
    const std::string check = entry.result.substr(size);
    entry.result.resize(size);
    if (check != CheckOf(entry)) return absl::DataLossError("an entry");
    found = std::move(entry);
    return false;
  }));
  return found;
}

absl::StatusOr<uint64_t> OnceTable::Count(const Scope& scope) {
  uint64_t count = 0;
  HEFT_RETURN_IF_ERROR(With(nullptr, [&]() -> absl::StatusOr<bool> {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement,
                          Prepare("SELECT entries FROM scopes WHERE scope = ?", scope));
    SqlStatement select(statement);
    const int rc = select.Step();
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return Done(rc);
    count = select.Number(0);  // without a row 0
    return false;
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
    return BuildDatabase(to, to, [&](Database* made) { return made->CopyOf(*source, "make"); });
  };
  return Explained(from, copy());
}

}  // namespace heft
