// SPDX-License-Identifier: Apache-2.0
// Connections to store.sqlite, and what SQLite's errors mean.
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/file_size_signal.h"
#include "store/sqlite.h"
#include "store/vfs.h"

namespace heft {
namespace {

// How long another program may hold a lock; ours take turns (LockStore).
constexpr int kOthersMs = 5000;

}  // namespace

absl::Status ReplacedStore(const std::string& folder) {
  return absl::FailedPreconditionError(
      absl::StrCat("the store in ", folder,
                   " was replaced while other processes have it open: end them, then try again"));
}

absl::Status StoreError(std::string_view action, const std::string& folder, int rc,
                        std::string_view table) {
  const auto unavailable = [&](std::string_view what) {
    return absl::UnavailableError(absl::StrCat("cannot ", std::string(action), " the store in ",
                                               folder, ": ", sqlite3_errstr(rc), ": ",
                                               std::string(what)));
  };
  switch (rc & 0xff) {
    case SQLITE_CORRUPT: {
      if (table.empty()) {
        return DamagedStore(folder,
                            "a page of a table cannot be read (`heft-server gallery stats "
                            "--verify` names the table)");
      }
      const std::string why =
          absl::StrCat("a page of the table ", std::string(table), " cannot be read");
      // A rebuild begins with these two.
      return table == "store" || table == "sqlite_schema" ? UnmendableStore(folder, why)
                                                          : DamagedStore(folder, why);
    }
    case SQLITE_NOTADB:
      return UnmendableStore(folder, sqlite3_errstr(rc & 0xff));
    case SQLITE_FORMAT:
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      return DamagedStore(folder, sqlite3_errstr(rc & 0xff));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return unavailable("another program has it open, as sqlite3: close it, then try again");
    case SQLITE_NOMEM:
      return SystemStoreError(action, folder, ENOMEM);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return SystemStoreError(action, folder, EACCES);
    case SQLITE_PROTOCOL:
      return unavailable("too many processes begin to read it: try again");
    default:
      break;
  }
  if (rc == SQLITE_IOERR_SHORT_READ) return DamagedStore(folder, "store.sqlite is cut off");
  if (VfsError() == ESTALE) return ReplacedStore(folder);
  if (VfsError() != 0) return SystemStoreError(action, folder, VfsError());
  if ((rc & 0xff) == SQLITE_FULL) return SystemStoreError(action, folder, ENOSPC);
  return unavailable("nothing was changed");
}

SqlStatement::~SqlStatement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

// The bytes must outlive the statement's use.
SqlStatement& SqlStatement::Bind(int at, ByteSpan bytes) {
  if (bytes.empty()) {
    sqlite3_bind_zeroblob(statement_, at, 0);
  } else {
    sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_STATIC);
  }
  return *this;
}

SqlStatement& SqlStatement::Bind(int at, uint64_t number) {
  sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(number));
  return *this;
}

SqlStatement& SqlStatement::Bind(int at, const Cell& cell, SqlType type) {
  if (const auto* const number = std::get_if<int64_t>(&cell)) {
    sqlite3_bind_int64(statement_, at, *number);
  } else if (const auto* const real = std::get_if<double>(&cell)) {
    sqlite3_bind_double(statement_, at, *real);
  } else if (const auto* const bytes = std::get_if<ByteSpan>(&cell)) {
    if (type != SqlType::kText) return Bind(at, *bytes);
    const char* const text = bytes->empty() ? "" : reinterpret_cast<const char*>(bytes->data());
    sqlite3_bind_text64(statement_, at, text, bytes->size(), SQLITE_STATIC, SQLITE_UTF8);
  } else {
    sqlite3_bind_null(statement_, at);
  }
  return *this;
}

SqlStatement& SqlStatement::Bind(std::span<const Cell> cells, const Layout& layout) {
  for (size_t i = 0; i < cells.size(); ++i) {
    Bind(static_cast<int>(i) + 1, cells[i], layout.columns[i].type);
  }
  return *this;
}

// SQLITE_OPEN_NOMUTEX: a connection has no mutex. So SQLite treats unprotected values like
// protected ones (https://www.sqlite.org/c3ref/value.html). One look-up serves type and value.
Cell SqlStatement::Value(int column, SqlType type) const {
  sqlite3_value* const value = sqlite3_column_value(statement_, column);
  const int there = sqlite3_value_type(value);
  if (type == SqlType::kInteger && there == SQLITE_INTEGER) {
    return static_cast<int64_t>(sqlite3_value_int64(value));
  }
  if (type == SqlType::kReal && (there == SQLITE_FLOAT || there == SQLITE_INTEGER)) {
    return sqlite3_value_double(value);
  }
  if (type == SqlType::kText && there == SQLITE_TEXT) {
    const auto* const text = sqlite3_value_text(value);
    return ByteSpan(text, static_cast<size_t>(sqlite3_value_bytes(value)));
  }
  if (type == SqlType::kBytes && there == SQLITE_BLOB) {
    const auto* const data = static_cast<const uint8_t*>(sqlite3_value_blob(value));
    return ByteSpan(data, static_cast<size_t>(sqlite3_value_bytes(value)));
  }
  return {};
}

ByteSpan SqlStatement::Bytes(int column) const {
  const auto* const data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                         const std::string& folder, Mode mode) {
  ClearVfsError();
  std::unique_ptr<Database> database(new Database(folder));
  if (StoreVfs() == nullptr) return SystemStoreError("open", folder, ENOMEM);
  const int flags = mode == Mode::kRead    ? SQLITE_OPEN_READONLY
                    : mode == Mode::kWrite ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int rc =
      sqlite3_open_v2(path.c_str(), &database->db_,
                      flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, StoreVfs());
  if (rc != SQLITE_OK) return StoreError("open", folder, rc);
  sqlite3_extended_result_codes(database->db_, 1);
  sqlite3_busy_timeout(database->db_, kOthersMs);
  // The log stays: it is as durable as the database, and the next process need not make it anew.
  sqlite3_db_config(database->db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(database->db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database->db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  HEFT_RETURN_IF_ERROR(database->Run(
      mode == Mode::kBuild
          ? "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = OFF;"
            "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
            "PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536"
          : "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;"
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -2048;"
            "PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 4000",
      "open", "sqlite_schema"));
  return database;
}

Database::~Database() {
  // In a forked child, closing would give the parent's locks away.
  if (db_ == nullptr || getpid() != process_) return;
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  for (const auto& tables : queries_) {
    for (sqlite3_stmt* const statement : tables) sqlite3_finalize(statement);
  }
  sqlite3_close(db_);
}

absl::Status Database::Run(const char* sql, std::string_view action, std::string_view table) {
  const NoFileSizeSignal no_signal;
  ClearVfsError();
  const int rc = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? absl::OkStatus() : StoreError(action, folder_, rc, table);
}

absl::StatusOr<sqlite3_stmt*> Database::PrepareNew(const std::string& sql) {
  ClearVfsError();
  sqlite3_stmt* statement = nullptr;
  const int rc = sqlite3_prepare_v3(db_, sql.c_str(), static_cast<int>(sql.size() + 1),
                                    SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  // With a list of tables that cannot be read, no statement can be prepared.
  if (rc != SQLITE_OK) return StoreError("read", folder_, rc, "sqlite_schema");
  return statement;
}

absl::StatusOr<sqlite3_stmt*> Database::Prepare(const std::string& sql) {
  if (const auto it = statements_.find(sql); it != statements_.end()) return it->second;
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, PrepareNew(sql));
  statements_.emplace(sql, statement);
  return statement;
}

absl::StatusOr<sqlite3_stmt*> Database::Prepare(Query query, size_t which) {
  sqlite3_stmt*& statement = queries_[query][which];
  if (statement != nullptr) return statement;
  const Layout& layout = LayoutAt(which);
  const auto text = [&]() -> std::string {
    switch (query) {
      case kGet:
        return SelectText(layout, Dialect::kSqlite, "=", /*limit=*/false);
      case kFrom:
        return SelectText(layout, Dialect::kSqlite, ">=", /*limit=*/true);
      case kAfter:
        return SelectText(layout, Dialect::kSqlite, ">", /*limit=*/true);
      case kInsert:
        return InsertText(layout);
      case kDelete:
        return DeleteText(layout);
    }
    return {};
  };
  HEFT_ASSIGN_OR_RETURN(statement, PrepareNew(text()));
  return statement;
}

absl::StatusOr<uint64_t> Database::Number(const char* sql, std::string_view table) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const prepared, Prepare(sql));
  ClearVfsError();
  SqlStatement statement(prepared);
  const int rc = statement.Step();
  if (rc == SQLITE_ROW) return statement.Number(0);
  if (rc == SQLITE_DONE) return uint64_t{0};
  return StoreError("read", folder_, rc, table);
}

absl::Status Database::CopyOf(const Database& other, std::string_view action) {
  ClearVfsError();
  sqlite3_backup* const copy = sqlite3_backup_init(db_, "main", other.db_, "main");
  if (copy == nullptr) return StoreError(action, folder_, sqlite3_errcode(db_));
  sqlite3_backup_step(copy, -1);
  const int rc = sqlite3_backup_finish(copy);
  return rc == SQLITE_OK ? absl::OkStatus() : StoreError(action, folder_, rc);
}

absl::StatusOr<std::vector<std::string>> Database::Texts(const std::string& sql) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const prepared, Prepare(sql));
  ClearVfsError();
  SqlStatement statement(prepared);
  std::vector<std::string> texts;
  int rc;
  while ((rc = statement.Step()) == SQLITE_ROW) {
    const ByteSpan text = statement.Bytes(0);
    texts.emplace_back(text.begin(), text.end());
  }
  if (rc != SQLITE_DONE) return StoreError("check", folder_, rc);
  return texts;
}

}  // namespace heft
