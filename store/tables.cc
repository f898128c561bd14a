// SPDX-License-Identifier: Apache-2.0
// The tables of a store, in SQL.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "store/sqlite.h"
#include "store/vfs.h"

namespace heft {
namespace {

// The version of the tables' form, not of the galleries' data in them.
constexpr uint64_t kStoreVersion = 1;
constexpr uint64_t kApplication = 0x48454654;  // "HEFT"
// kInRow: longer values are in the file of blocks, so that no row needs pages of its own.
constexpr size_t kInRow = 700;

constexpr std::string_view kSchema = R"(
CREATE TABLE "store" (  -- one row about the store
  only INTEGER PRIMARY KEY CHECK (only = 1),
  identity BLOB NOT NULL,    -- random; store.blocks begins with it
  state INTEGER NOT NULL     -- commits so far
);
CREATE TABLE "pages used" (  -- of store.blocks, by blocks of the newest state
  first INTEGER PRIMARY KEY, -- page, of 4096 bytes
  count INTEGER NOT NULL
);
CREATE TABLE "pages freed" ( -- by commits; older states may still be read
  first INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  state INTEGER NOT NULL     -- the commit that freed them
);)";

std::string Sql(std::string_view before, Table table, std::string_view after) {
  return absl::StrCat(std::string(before), " \"", std::string(TableName(table)), "\" ",
                      std::string(after));
}

}  // namespace

absl::Status StoreTables::Make(Database* database, const StoreIdentity& identity) {
  std::string sql =
      absl::StrCat("PRAGMA application_id = ", kApplication,
                   "; PRAGMA user_version = ", kStoreVersion, ";", std::string(kSchema));
  for (size_t i = 0; i < kTables; ++i) {
    sql += Sql("\nCREATE TABLE", static_cast<Table>(i), R"((
  key BLOB PRIMARY KEY NOT NULL,
  value BLOB,                -- or, if it is long, its place in store.blocks:
  page INTEGER,              -- the first page
  size INTEGER,              -- bytes
  CHECK ((value IS NULL) = (page IS NOT NULL) AND (page IS NULL) = (size IS NULL))
) WITHOUT ROWID;)");
  }
  HEFT_RETURN_IF_ERROR(database->Run(sql.c_str(), "make"));
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert,
                        database->Prepare("INSERT INTO store VALUES (1, ?, 1)"));
  SqlStatement statement(insert);
  const int rc = statement.Bind(1, identity).Step();
  return rc == SQLITE_DONE ? absl::OkStatus() : StoreError("make", database->folder(), rc);
}

absl::StatusOr<StoreIdentity> StoreTables::CheckVersion(Database* database) {
  const std::string& folder = database->folder();
  HEFT_ASSIGN_OR_RETURN(const uint64_t application, database->Number("PRAGMA application_id"));
  HEFT_ASSIGN_OR_RETURN(const uint64_t version, database->Number("PRAGMA user_version"));
  if (application != kApplication) return DamagedStore(folder, "store.sqlite is not HEFT's");
  if (version != kStoreVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store in ", folder, " is of another version (", version, "; this is ",
                     kStoreVersion, "): use the version of HEFT that made it, or a newer one"));
  }
  for (size_t i = 0; i < kTables; ++i) {
    HEFT_RETURN_IF_ERROR(database->Prepare(Database::kGet, static_cast<Table>(i)).status());
  }
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select,
                        database->Prepare("SELECT identity FROM store WHERE only = 1"));
  SqlStatement statement(select);
  const int rc = statement.Step();
  StoreIdentity identity;
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) return StoreError("open", folder, rc);
  if (rc == SQLITE_DONE || statement.Bytes(0).size() != identity.size()) {
    return DamagedStore(folder, "it has no identity");
  }
  std::ranges::copy(statement.Bytes(0), identity.begin());
  return identity;
}

absl::Status StoreTables::Done(int rc) const {
  return rc == SQLITE_DONE ? absl::OkStatus() : StoreError("write to", database_->folder(), rc);
}

absl::StatusOr<uint64_t> StoreTables::State() const {
  return database_->Number("SELECT state FROM store WHERE only = 1");
}

absl::Status StoreTables::SetState(uint64_t state) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const update,
                        database_->Prepare("UPDATE store SET state = ? WHERE only = 1"));
  return Done(SqlStatement(update).Bind(1, state).Step());
}

// Read: the columns value, page, size.
absl::StatusOr<StoreTables::Found> StoreTables::Read(const SqlStatement& row, int column) const {
  Found found;
  if (row.IsNull(column + 1)) {
    const ByteSpan value = row.Bytes(column);
    found.short_value.emplace(value.begin(), value.end());
    return found;
  }
  found.page = row.Number(column + 1);
  HEFT_ASSIGN_OR_RETURN(found.block, blocks_->Value(found.page, row.Number(column + 2)));
  return found;
}

absl::StatusOr<std::optional<StoreTables::Found>> StoreTables::Get(Table table,
                                                                   ByteSpan key) const {
  if (key.empty() || key.size() > kMostKey) return std::optional<Found>();
  ClearVfsError();
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select, database_->Prepare(Database::kGet, table));
  SqlStatement statement(select);
  const int rc = statement.Bind(1, key).Step();
  if (rc == SQLITE_DONE) return std::optional<Found>();
  if (rc != SQLITE_ROW) return StoreError("read", database_->folder(), rc);
  HEFT_ASSIGN_OR_RETURN(Found found, Read(statement, 0));
  return std::optional<Found>(std::move(found));
}

absl::StatusOr<std::vector<StoreTables::Entry>> StoreTables::Next(Table table, ByteSpan from,
                                                                  bool after, size_t count) const {
  ClearVfsError();
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select,
                        database_->Prepare(after ? Database::kAfter : Database::kFrom, table));
  SqlStatement statement(select);
  statement.Bind(1, from).Bind(2, count);
  std::vector<Entry> entries;
  int rc;
  while ((rc = statement.Step()) == SQLITE_ROW) {
    const ByteSpan key = statement.Bytes(0);
    HEFT_ASSIGN_OR_RETURN(Found found, Read(statement, 1));
    entries.emplace_back(std::vector<uint8_t>(key.begin(), key.end()), std::move(found));
  }
  if (rc != SQLITE_DONE) return StoreError("read", database_->folder(), rc);
  return entries;
}

absl::Status StoreTables::Free(PageRange range, uint64_t state, Space* space) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const remove,
                        database_->Prepare("DELETE FROM \"pages used\" WHERE first = ?"));
  HEFT_RETURN_IF_ERROR(Done(SqlStatement(remove).Bind(1, range.first).Step()));
  if (space->taken.erase(range) > 0) {
    space->free.Give(range);
    return absl::OkStatus();
  }
  space->freed += range.count;
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert,
                        database_->Prepare("INSERT INTO \"pages freed\" VALUES (?, ?, ?)"));
  return Done(SqlStatement(insert).Bind(1, range.first).Bind(2, range.count).Bind(3, state).Step());
}

absl::Status StoreTables::Put(Table table, ByteSpan key, ByteSpan value, uint64_t state,
                              Space* space) {
  PageRange range;
  if (value.size() > kInRow) {
    range.count = BlockPages(value.size());
    range.first = space->free.Take(range.count);
    space->taken.insert(range);
    HEFT_RETURN_IF_ERROR(blocks_->Put(range.first, value));
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert,
                          database_->Prepare("INSERT INTO \"pages used\" VALUES (?, ?)"));
    HEFT_RETURN_IF_ERROR(
        Done(SqlStatement(insert).Bind(1, range.first).Bind(2, range.count).Step()));
  }
  const auto run = [&](Database::Query query) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const prepared, database_->Prepare(query, table));
    SqlStatement statement(prepared);
    statement.Bind(1, key);
    if (range.count == 0) {
      statement.Bind(2, value);
    } else {
      statement.Bind(3, range.first).Bind(4, value.size());
    }
    return Done(statement.Step());
  };
  HEFT_RETURN_IF_ERROR(run(Database::kInsert));
  if (sqlite3_changes(database_->get()) != 0) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const auto old, Get(table, key));
  HEFT_RETURN_IF_ERROR(run(Database::kUpdate));
  if (!old || old->page == 0) return absl::OkStatus();
  return Free({old->page, BlockPages(old->block.size())}, state, space);
}

absl::Status StoreTables::Delete(Table table, ByteSpan key, uint64_t state, Space* space) {
  HEFT_ASSIGN_OR_RETURN(const auto old, Get(table, key));
  if (!old) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const remove, database_->Prepare(Database::kDelete, table));
  HEFT_RETURN_IF_ERROR(Done(SqlStatement(remove).Bind(1, key).Step()));
  if (old->page == 0) return absl::OkStatus();
  return Free({old->page, BlockPages(old->block.size())}, state, space);
}

absl::StatusOr<std::vector<PageRange>> StoreTables::Ranges(const std::string& sql) const {
  ClearVfsError();
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select, database_->Prepare(sql));
  SqlStatement statement(select);
  std::vector<PageRange> ranges;
  int rc;
  while ((rc = statement.Step()) == SQLITE_ROW) {
    const PageRange range = {statement.Number(0), statement.Number(1)};
    constexpr uint64_t kMost = uint64_t{1} << 40;
    const uint64_t free_from = ranges.empty() ? 1 : ranges.back().end();
    if (range.first < free_from || range.first > kMost || range.count == 0 || range.count > kMost) {
      return DamagedStore(database_->folder(), "pages of blocks overlap");
    }
    ranges.push_back(range);
  }
  if (rc != SQLITE_DONE) return StoreError("read", database_->folder(), rc);
  return ranges;
}

absl::StatusOr<std::vector<PageRange>> StoreTables::Used() const {
  return Ranges("SELECT first, count FROM \"pages used\" ORDER BY first");
}

absl::StatusOr<std::vector<PageRange>> StoreTables::Freed() const {
  return Ranges("SELECT first, count FROM \"pages freed\" ORDER BY first");
}

absl::Status StoreTables::ForgetFreed() {
  return database_->Run("DELETE FROM \"pages freed\"", "scrub");
}

// Check: SQLite's own check, and that blocks have exactly the pages that are used.
absl::Status StoreTables::Check() const {
  {
    ClearVfsError();
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const check,
                          database_->Prepare("PRAGMA integrity_check(1)"));
    SqlStatement statement(check);
    const int rc = statement.Step();
    if (rc != SQLITE_ROW) return StoreError("check", database_->folder(), rc);
    const ByteSpan said = statement.Bytes(0);
    const std::string text(said.begin(), said.end());
    if (text != "ok") return DamagedStore(database_->folder(), text);
  }
  std::vector<PageRange> blocks;
  for (size_t i = 0; i < kTables; ++i) {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select,
                          database_->Prepare(Sql("SELECT page, size FROM", static_cast<Table>(i),
                                                 "WHERE page IS NOT NULL")));
    SqlStatement statement(select);
    int rc;
    while ((rc = statement.Step()) == SQLITE_ROW) {
      const uint64_t page = statement.Number(0), size = statement.Number(1);
      HEFT_RETURN_IF_ERROR(blocks_->Value(page, size).status());
      blocks.push_back({page, BlockPages(size)});
    }
    if (rc != SQLITE_DONE) return StoreError("check", database_->folder(), rc);
  }
  std::ranges::sort(blocks);
  HEFT_ASSIGN_OR_RETURN(const std::vector<PageRange> used, Used());
  if (blocks != used) return DamagedStore(database_->folder(), "blocks and their pages differ");
  HEFT_ASSIGN_OR_RETURN(std::vector<PageRange> all, Freed());
  all.insert(all.end(), used.begin(), used.end());
  std::ranges::sort(all);
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].first < all[i - 1].end()) {
      return DamagedStore(database_->folder(), "pages of blocks overlap");
    }
  }
  return absl::OkStatus();
}

}  // namespace heft
