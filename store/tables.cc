// SPDX-License-Identifier: Apache-2.0
// The tables of a store, in SQL.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "store/sqlite.h"
#include "store/vfs.h"

namespace heft {
namespace {

// The version of the tables' form, not of the galleries' data in them.
constexpr uint64_t kStoreVersion = 2;
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

constexpr Dialect kSqlite = Dialect::kSqlite;

// ReadRow, RowOf: all columns.
void ReadRow(const SqlStatement& row, const Layout& layout, Cells* cells) {
  cells->resize(layout.columns.size());
  for (size_t i = 0; i < cells->size(); ++i) {
    (*cells)[i] = row.Value(static_cast<int>(i), layout.columns[i].type);
  }
}

Cells RowOf(const SqlStatement& row, const Layout& layout) {
  Cells cells;
  ReadRow(row, layout, &cells);
  return cells;
}

// TemplatesText: selects the rows of a run, in order.
const std::string& TemplatesText() {
  static const auto* const text = new std::string(absl::StrCat(
      "SELECT ", absl::StrJoin(ColumnNames(TemplateLayout(), kSqlite), ", "),
      " FROM template WHERE gallery = ? AND position BETWEEN ? AND ? ORDER BY position"));
  return *text;
}

// BindRun: the parameters of TemplatesText for the run that has this row.
void BindRun(std::span<const Cell> row, SqlStatement* statement) {
  const auto [first, last] = RunPositions(row);
  statement->Bind(1, row[0], SqlType::kInteger);
  statement->Bind(2, static_cast<uint64_t>(first)).Bind(3, static_cast<uint64_t>(last));
}

bool SameCell(const Cell& a, const Cell& b) {
  const auto* const left = std::get_if<ByteSpan>(&a);
  const auto* const right = std::get_if<ByteSpan>(&b);
  if (left != nullptr && right != nullptr) return std::ranges::equal(*left, *right);
  if (a.index() != b.index() || left != nullptr) return false;
  const auto* const number = std::get_if<int64_t>(&a);
  const auto* const real = std::get_if<double>(&a);
  return number != nullptr ? *number == std::get<int64_t>(b)
                           : real == nullptr || *real == std::get<double>(b);
}

}  // namespace

absl::Status StoreTables::Make(Database* database, const StoreIdentity& identity) {
  std::string sql =
      absl::StrCat("PRAGMA application_id = ", kApplication,
                   "; PRAGMA user_version = ", kStoreVersion, ";", std::string(kSchema));
  sql += SchemaText();
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
  if (application != kApplication) return UnmendableStore(folder, "store.sqlite is not HEFT's");
  if (version != kStoreVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store in ", folder, " is of another version (", version, "; this is ",
                     kStoreVersion, "): use the version of HEFT that made it, or a newer one"));
  }
  // Other programs may have added tables.
  HEFT_ASSIGN_OR_RETURN(const uint64_t tables,
                        database->Number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' "
                                         "AND name NOT LIKE 'sqlite%'"));
  if (tables < kLayouts + 3) return UnmendableStore(folder, "it lacks tables");
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select,
                        database->Prepare("SELECT identity FROM store WHERE only = 1"));
  SqlStatement statement(select);
  const int rc = statement.Step();
  StoreIdentity identity;
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) return StoreError("open", folder, rc, "store");
  if (rc == SQLITE_DONE || statement.Bytes(0).size() != identity.size()) {
    return UnmendableStore(folder, "it has no identity");
  }
  std::ranges::copy(statement.Bytes(0), identity.begin());
  return identity;
}

absl::Status StoreTables::Done(int rc) const {
  return rc == SQLITE_DONE ? absl::OkStatus() : StoreError("write to", database_->folder(), rc);
}

absl::StatusOr<uint64_t> StoreTables::State() const {
  return database_->Number("SELECT state FROM store WHERE only = 1", "store");
}

absl::Status StoreTables::SetState(uint64_t state) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const update,
                        database_->Prepare("UPDATE store SET state = ? WHERE only = 1"));
  return Done(SqlStatement(update).Bind(1, state).Step());
}

// JoinRow: the value of a row, and of its templates if it is a run.
absl::StatusOr<std::vector<uint8_t>> StoreTables::JoinRow(Table table,
                                                          std::span<const Cell> row) const {
  if (table != Table::kRoster) return JoinValue(table, row, std::span<const Cells>());
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const prepared, database_->Prepare(TemplatesText()));
  SqlStatement statement(prepared);
  BindRun(row, &statement);
  Cells cells;
  int rc = SQLITE_DONE;
  auto value = JoinValue(table, row, [&]() -> const Cells* {
    rc = statement.Step();
    if (rc != SQLITE_ROW) return nullptr;
    ReadRow(statement, TemplateLayout(), &cells);
    return &cells;
  });
  if (rc == SQLITE_DONE || rc == SQLITE_ROW) return value;
  return StoreError("read", database_->folder(), rc, TemplateLayout().name);
}

// Read: a row's value.
absl::StatusOr<StoreTables::Found> StoreTables::Read(const SqlStatement& row, size_t which) const {
  const Layout& layout = LayoutAt(which);
  const auto place = static_cast<int>(layout.columns.size());  // value, page, size
  Found found;
  if (layout.opaque && !row.IsNull(place + 1)) {
    // A damaged block has an empty value, as a damaged row has: the check of the values names it
    // and reads its copy.
    const auto block = blocks_->Value(row.Number(place + 1), row.Number(place + 2));
    if (!block.ok() && !absl::IsDataLoss(block.status())) return block.status();
    if (block.ok()) found.block = *block;
    return found;
  }
  if (layout.opaque) {
    const ByteSpan value = row.Bytes(place);
    found.short_value.emplace(value.begin(), value.end());
    return found;
  }
  HEFT_ASSIGN_OR_RETURN(found.short_value, JoinRow(static_cast<Table>(which), RowOf(row, layout)));
  if (found.short_value->size() < kLongValue) return found;
  std::vector<uint8_t>& value = *found.short_value;
  value.reserve(value.size() + kValueAlignment);
  const size_t at = reinterpret_cast<uintptr_t>(value.data()) % kValueAlignment;
  found.skipped = (kValueAlignment + kValueOffset - at) % kValueAlignment;
  value.insert(value.begin(), found.skipped, 0);
  return found;
}

absl::StatusOr<std::optional<StoreTables::Found>> StoreTables::Get(Table table,
                                                                   ByteSpan key) const {
  if (key.empty() || key.size() > kMaxKey) return std::optional<Found>();
  ClearVfsError();
  const auto get = [&](size_t which,
                       std::span<const Cell> cells) -> absl::StatusOr<std::optional<Found>> {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select, database_->Prepare(Database::kGet, which));
    SqlStatement statement(select);
    const int rc = statement.Bind(cells, LayoutAt(which)).Step();
    if (rc == SQLITE_DONE) return std::optional<Found>();
    if (rc != SQLITE_ROW) {
      return StoreError("read", database_->folder(), rc, LayoutAt(which).name);
    }
    HEFT_ASSIGN_OR_RETURN(Found found, Read(statement, which));
    return std::optional<Found>(std::move(found));
  };
  const auto which = static_cast<size_t>(table);
  const auto cells = SplitKey(table, key);
  if (cells) {
    HEFT_ASSIGN_OR_RETURN(auto found, get(which, *cells));
    const bool none = others_[which] == false && key[0] != 0xFF;
    if (found || none || LayoutOf(table).opaque) return found;
  }
  auto other = get(kOtherRows, Cells{static_cast<int64_t>(which), key});
  // If the key fits, an intact entry is in its own table.
  if (cells && absl::IsDataLoss(other.status())) return std::optional<Found>();
  return other;
}

// Rows: `key` is empty at the end. A page that cannot be read is one: `unread` is then the error.
class StoreTables::Rows {
 public:
  Rows(sqlite3_stmt* statement, Table table, size_t which)
      : statement_(statement), table_(table), which_(which) {}
  void From(const Cells& key, size_t count) {
    const Layout& layout = LayoutAt(which_);
    statement_.Bind(key, layout).Bind(static_cast<int>(layout.keys) + 1, count);
  }
  absl::Status Step(const std::string& folder) {
    key_.clear();
    const int rc = statement_.Step();
    if (rc == SQLITE_DONE) return absl::OkStatus();
    if (rc != SQLITE_ROW) {
      unread_ = StoreError("read", folder, rc, LayoutAt(which_).name);
      return absl::IsDataLoss(unread_) ? absl::OkStatus() : unread_;
    }
    if (which_ != kOtherRows) {
      key_ = JoinKey(table_, RowOf(statement_, LayoutAt(which_)));
    } else if (statement_.Number(0) == static_cast<uint64_t>(table_)) {
      const ByteSpan key = statement_.Bytes(1);
      key_.assign(key.begin(), key.end());
    }
    return absl::OkStatus();
  }
  std::vector<uint8_t>& key() { return key_; }
  const SqlStatement& row() const { return statement_; }
  size_t which() const { return which_; }
  const absl::Status& unread() const { return unread_; }

 private:
  SqlStatement statement_;
  const Table table_;
  const size_t which_;
  std::vector<uint8_t> key_;
  absl::Status unread_;
};

// Next: the table's rows and its entries among the others, in one order.
absl::StatusOr<std::vector<StoreTables::Entry>> StoreTables::Next(Table table, ByteSpan from,
                                                                  bool after, size_t count,
                                                                  absl::Status* unread) const {
  ClearVfsError();
  const std::string& folder = database_->folder();
  const auto which = static_cast<size_t>(table);
  const Bound bound = BoundOf(table, from, after);
  HEFT_ASSIGN_OR_RETURN(
      sqlite3_stmt* const select,
      database_->Prepare(bound.after ? Database::kAfter : Database::kFrom, which));
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select_others,
                        database_->Prepare(after ? Database::kAfter : Database::kFrom, kOtherRows));
  Rows own(select, table, which), others(select_others, table, kOtherRows);
  // A bound may have a few rows before `from`: none is counted.
  own.From(bound.key, SIZE_MAX >> 1);
  others.From({static_cast<int64_t>(which), from}, SIZE_MAX >> 1);
  HEFT_RETURN_IF_ERROR(own.Step(folder));
  HEFT_RETURN_IF_ERROR(others.Step(folder));
  std::vector<Entry> entries;
  while (entries.size() < count && (!own.key().empty() || !others.key().empty())) {
    const bool first =
        !own.key().empty() &&
        (others.key().empty() || std::ranges::lexicographical_compare(own.key(), others.key()));
    Rows& next = first ? own : others;
    const auto place = std::ranges::lexicographical_compare(next.key(), from)
                           ? -1
                           : static_cast<int>(!std::ranges::equal(next.key(), from));
    if (place > 0 || (place == 0 && !after)) {
      HEFT_ASSIGN_OR_RETURN(Found found, Read(next.row(), next.which()));
      entries.emplace_back(std::move(next.key()), std::move(found));
    }
    HEFT_RETURN_IF_ERROR(next.Step(folder));
  }
  unread->Update(own.unread());
  unread->Update(others.unread());
  return entries;
}

absl::StatusOr<std::optional<std::vector<uint64_t>>> StoreTables::FindTemplates(
    uint32_t gallery, const TemplateMarks& marks, uint64_t states) const {
  constexpr size_t kMost = 100;  // all runs are read sooner than so many marks are compared
  if (marks.identities.size() + marks.persons.size() + marks.names.size() > kMost) {
    return std::nullopt;
  }
  ClearVfsError();
  const auto select = [&](const std::string& sql, const auto& bind,
                          const auto& each) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const prepared, database_->Prepare(sql));
    SqlStatement statement(prepared);
    bind(statement.Bind(1, uint64_t{gallery}));
    int rc;
    while ((rc = statement.Step()) == SQLITE_ROW) each(statement.Number(0));
    if (rc == SQLITE_DONE) return absl::OkStatus();
    return StoreError("read", database_->folder(), rc, TemplateLayout().name);
  };
  uint64_t sum = 0;
  HEFT_RETURN_IF_ERROR(select(
      "SELECT sum(state) FROM template WHERE gallery = ?", [](SqlStatement&) {},
      [&](uint64_t number) { sum = number; }));
  if (sum != states) return std::nullopt;
  const auto in = [](const auto& all) {
    return absl::StrCat(" IN (", absl::StrJoin(std::vector<const char*>(all.size(), "?"), ","),
                        ")");
  };
  std::vector<uint64_t> positions;
  HEFT_RETURN_IF_ERROR(select(
      absl::StrCat("SELECT position FROM template WHERE gallery = ? AND (person", in(marks.persons),
                   " OR identity", in(marks.identities), " OR (state = 2 AND name_hash",
                   in(marks.names), "))"),
      [&](SqlStatement& statement) {
        int at = 1;
        for (const auto& id : marks.persons) statement.Bind(++at, id);
        for (const auto& name : marks.identities) {
          statement.Bind(++at, Cell(AsBytes(name)), SqlType::kText);
        }
        for (const auto& name : marks.names) statement.Bind(++at, name);
      },
      [&](uint64_t position) { positions.push_back(position); }));
  return positions;
}

// Free: the row's deletion has put the pages into the table of freed ones.
absl::Status StoreTables::Free(PageRange range, Space* space) {
  if (space->taken.erase(range) == 0) {
    space->freed += range.count;
    return absl::OkStatus();
  }
  space->free.Give(range);
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const remove,
                        database_->Prepare("DELETE FROM \"pages freed\" WHERE first = ?"));
  return Done(SqlStatement(remove).Bind(1, range.first).Step());
}

absl::Status StoreTables::Remove(size_t which, std::span<const Cell> key, Space* space) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const remove, database_->Prepare(Database::kDelete, which));
  PageRange range;
  {
    SqlStatement statement(remove);
    int rc = statement.Bind(key, LayoutAt(which)).Step();
    if (rc == SQLITE_ROW) {
      if (!statement.IsNull(0)) range = {statement.Number(0), BlockPages(statement.Number(1))};
      rc = statement.Step();
    }
    HEFT_RETURN_IF_ERROR(Done(rc));
  }
  return range.count == 0 ? absl::OkStatus() : Free(range, space);
}

absl::Status StoreTables::RemoveTyped(Table table, std::span<const Cell> key, Space* space) {
  const auto run = [&](const char* sql, const auto& bind) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const remove, database_->Prepare(sql));
    SqlStatement statement(remove);
    bind(statement);
    return Done(statement.Step());
  };
  if (table == Table::kCatalog) {  // its rows stay
    return run("UPDATE gallery SET name = NULL, checksum = NULL WHERE name = ?",
               [&](SqlStatement& s) { s.Bind(1, key[0], SqlType::kText); });
  }
  HEFT_RETURN_IF_ERROR(Remove(static_cast<size_t>(table), key, space));
  if (table != Table::kRoster) return absl::OkStatus();
  return run("DELETE FROM template WHERE gallery = ? AND position BETWEEN ? AND ?",
             [&](SqlStatement& s) { BindRun(key, &s); });
}

absl::Status StoreTables::HaveGallery(uint32_t number) {
  if (!galleries_.insert(number).second) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert,
                        database_->Prepare("INSERT INTO gallery (number) VALUES (?) "
                                           "ON CONFLICT DO NOTHING"));
  return Done(SqlStatement(insert).Bind(1, uint64_t{number}).Step());
}

absl::Status StoreTables::Insert(size_t which, std::span<const Cell> cells) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert, database_->Prepare(Database::kInsert, which));
  return Done(SqlStatement(insert).Bind(cells, LayoutAt(which)).Step());
}

// PutName: a gallery has one name; another one is among the other entries.
absl::Status StoreTables::PutName(std::span<const Cell> cells, bool* done) {
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const update,
                        database_->Prepare("UPDATE gallery SET name = ?1, checksum = ?3 WHERE "
                                           "number = ?2 AND (name IS NULL OR name = ?1)"));
  HEFT_RETURN_IF_ERROR(Done(SqlStatement(update).Bind(cells, LayoutOf(Table::kCatalog)).Step()));
  *done = sqlite3_changes(database_->get()) != 0;
  return absl::OkStatus();
}

absl::Status StoreTables::PutTyped(Table table, const SplitEntry& entry, bool* done) {
  *done = true;
  if (table == Table::kCatalog) return PutName(entry.row, done);
  HEFT_RETURN_IF_ERROR(Insert(static_cast<size_t>(table), entry.row));
  return table == Table::kRoster ? PutTemplates(entry) : absl::OkStatus();
}

// PutTemplates: only rows that differ are written.
absl::Status StoreTables::PutTemplates(const SplitEntry& run) {
  const Layout& layout = TemplateLayout();
  std::vector<const Cells*> changed;
  std::vector<int64_t> gone;
  size_t next = 0;
  {
    HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const select, database_->Prepare(TemplatesText()));
    SqlStatement statement(select);
    BindRun(run.row, &statement);
    int rc;
    while ((rc = statement.Step()) == SQLITE_ROW) {
      const auto position = static_cast<int64_t>(statement.Number(1));
      const auto at = [&] { return std::get<int64_t>(run.templates[next][1]); };
      while (next < run.templates.size() && at() < position) {
        changed.push_back(&run.templates[next++]);
      }
      if (next == run.templates.size() || at() != position) {
        gone.push_back(position);
        continue;
      }
      const Cells& row = run.templates[next++];
      for (size_t i = 2; i < layout.columns.size(); ++i) {
        if (SameCell(row[i], statement.Value(static_cast<int>(i), layout.columns[i].type)))
          continue;
        changed.push_back(&row);
        break;
      }
    }
    if (rc != SQLITE_DONE) return StoreError("write to", database_->folder(), rc);
  }
  while (next < run.templates.size()) changed.push_back(&run.templates[next++]);
  for (const int64_t position : gone) {
    HEFT_RETURN_IF_ERROR(Remove(kTemplateRows, Cells{run.row[0], position}, nullptr));
  }
  for (const Cells* const row : changed) HEFT_RETURN_IF_ERROR(Insert(kTemplateRows, *row));
  return absl::OkStatus();
}

// MayHaveOthers: whether an entry of a table may be among the others, but for second copies.
absl::StatusOr<bool> StoreTables::MayHaveOthers(Table table, ByteSpan key) {
  std::optional<bool>& known = others_[static_cast<size_t>(table)];
  if (key[0] == 0xFF) return true;
  if (!known) {
    HEFT_ASSIGN_OR_RETURN(
        sqlite3_stmt* const select,
        database_->Prepare("SELECT 1 FROM other WHERE kind = ? AND key < x'ff' LIMIT 1"));
    const int rc = SqlStatement(select).Bind(1, static_cast<uint64_t>(table)).Step();
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return StoreError("read", database_->folder(), rc);
    known = rc == SQLITE_ROW;
  }
  return *known;
}

// PutOpaque: `value` may be in pages that the old row has.
absl::Status StoreTables::PutOpaque(size_t which, const Cells& cells, ByteSpan value,
                                    Space* space) {
  const Layout& layout = LayoutAt(which);
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
  HEFT_RETURN_IF_ERROR(Remove(which, std::span(cells).first(layout.keys), space));
  HEFT_ASSIGN_OR_RETURN(sqlite3_stmt* const insert, database_->Prepare(Database::kInsert, which));
  SqlStatement statement(insert);
  statement.Bind(cells, layout);
  const auto place = static_cast<int>(cells.size()) + 1;
  if (range.count == 0) {
    statement.Bind(place, value);
  } else {
    statement.Bind(place + 1, range.first).Bind(place + 2, value.size());
  }
  return Done(statement.Step());
}

absl::Status StoreTables::Put(Table table, ByteSpan key, ByteSpan value, Space* space) {
  const auto which = static_cast<size_t>(table);
  const uint32_t gallery = GalleryOf(table, key, value);
  HEFT_RETURN_IF_ERROR(HaveGallery(gallery));
  const auto entry = Split(table, key, value);
  if (entry && LayoutOf(table).opaque) return PutOpaque(which, entry->row, value, space);
  const auto cells = entry ? std::optional<Cells>() : SplitKey(table, key);
  const std::span<const Cell> all = entry ? entry->row : cells ? *cells : std::span<const Cell>();
  // Another gallery may have had the name.
  const bool replace = !entry || table == Table::kCatalog;
  if (!all.empty() && replace) {
    HEFT_RETURN_IF_ERROR(RemoveTyped(table, all.first(LayoutOf(table).keys), space));
  }
  bool done = false;
  if (entry) HEFT_RETURN_IF_ERROR(PutTyped(table, *entry, &done));
  const Cells other = {static_cast<int64_t>(which), key, static_cast<int64_t>(gallery)};
  if (!done) {
    if (key[0] != 0xFF) others_[which] = true;
    return PutOpaque(kOtherRows, other, value, space);
  }
  HEFT_ASSIGN_OR_RETURN(const bool others, MayHaveOthers(table, key));
  if (!others) return absl::OkStatus();
  return Remove(kOtherRows, std::span(other).first(2), space);
}

absl::Status StoreTables::Delete(Table table, ByteSpan key, Space* space) {
  if (const auto cells = SplitKey(table, key)) {
    HEFT_RETURN_IF_ERROR(RemoveTyped(table, *cells, space));
    if (LayoutOf(table).opaque) return absl::OkStatus();
  }
  return Remove(kOtherRows, Cells{static_cast<int64_t>(table), key}, space);
}

absl::StatusOr<std::vector<PageRange>> StoreTables::Ranges(const std::string& table) const {
  ClearVfsError();
  HEFT_ASSIGN_OR_RETURN(
      sqlite3_stmt* const select,
      database_->Prepare(absl::StrCat("SELECT first, count FROM \"", table, "\" ORDER BY first")));
  SqlStatement statement(select);
  std::vector<PageRange> ranges;
  int rc;
  while ((rc = statement.Step()) == SQLITE_ROW) {
    const PageRange range = {statement.Number(0), statement.Number(1)};
    constexpr uint64_t kMax = uint64_t{1} << 40;
    const uint64_t free_from = ranges.empty() ? 1 : ranges.back().end();
    if (range.first < free_from || range.first > kMax || range.count == 0 || range.count > kMax) {
      return DamagedStore(database_->folder(), "pages of blocks overlap");
    }
    ranges.push_back(range);
  }
  if (rc != SQLITE_DONE) return StoreError("read", database_->folder(), rc, table);
  return ranges;
}

absl::StatusOr<std::vector<PageRange>> StoreTables::Used() const { return Ranges("pages used"); }

absl::StatusOr<std::vector<PageRange>> StoreTables::Freed() const { return Ranges("pages freed"); }

absl::Status StoreTables::ForgetFreed() {
  return database_->Run("DELETE FROM \"pages freed\"", "scrub");
}

// Salvage: rows are read from both ends of a table up to a page that cannot be read. Tables,
// indices, views and triggers that other programs made are made again, behind HEFT's.
absl::Status StoreTables::Salvage(Database* from, Database* to) {
  const auto quoted = [](const std::string& text, const std::string& mark) {
    return absl::StrCat(mark, absl::StrReplaceAll(text, {{mark, mark + mark}}), mark);
  };
  const auto copy = [&](const std::string& table) -> absl::Status {
    const std::string name = quoted(table, "\"");
    const auto columns = [&](std::string_view which) -> absl::StatusOr<std::vector<std::string>> {
      HEFT_ASSIGN_OR_RETURN(auto names,
                            from->Texts(absl::StrCat("SELECT name FROM "
                                                     "pragma_table_info(",
                                                     quoted(table, "'"), ")", std::string(which))));
      for (std::string& column : names) column = quoted(column, "\"");
      return names;
    };
    HEFT_ASSIGN_OR_RETURN(const auto all, columns(""));
    HEFT_ASSIGN_OR_RETURN(auto key, columns(" WHERE pk > 0 ORDER BY pk"));
    if (key.empty()) key.emplace_back("rowid");
    const std::string list = absl::StrJoin(all, ", ");
    for (const char* const order : {" ASC", " DESC"}) {
      HEFT_ASSIGN_OR_RETURN(
          sqlite3_stmt* const select,
          from->Prepare(absl::StrCat("SELECT ", list, " FROM ", name, " ORDER BY ",
                                     absl::StrJoin(key, absl::StrCat(order, ", ")), order)));
      SqlStatement rows(select);
      const std::vector<std::string> marks(all.size(), "?");
      HEFT_ASSIGN_OR_RETURN(
          sqlite3_stmt* const insert,
          to->Prepare(absl::StrCat("INSERT OR IGNORE INTO ", name, " (", list, ") VALUES (",
                                   absl::StrJoin(marks, ","), ")")));
      int rc;
      while ((rc = rows.Step()) == SQLITE_ROW) {
        SqlStatement row(insert);
        for (int i = 0; i < static_cast<int>(all.size()); ++i) {
          sqlite3_bind_value(insert, i + 1, sqlite3_column_value(select, i));
        }
        const int inserted = row.Step();
        if (inserted == SQLITE_DONE || (inserted & 0xff) == SQLITE_CONSTRAINT) continue;
        return StoreError("mend", to->folder(), inserted);
      }
      if (rc == SQLITE_DONE) break;
      if ((rc & 0xff) != SQLITE_CORRUPT) return StoreError("mend", from->folder(), rc);
    }
    return absl::OkStatus();
  };
  HEFT_ASSIGN_OR_RETURN(const auto made, to->Texts("SELECT name FROM sqlite_schema"));
  // Of tables, or of all else.
  const auto make = [&](const std::string& which, const auto& fill) -> absl::Status {
    const auto texts = [&](const char* column) {
      return from->Texts(absl::StrCat("SELECT ", column, " FROM sqlite_schema WHERE type ", which,
                                      " 'table' AND sql IS NOT NULL AND substr(name, 1, 7) <> "
                                      "'sqlite_' ORDER BY rowid"));
    };
    HEFT_ASSIGN_OR_RETURN(const auto names, texts("name"));
    HEFT_ASSIGN_OR_RETURN(const auto statements, texts("sql"));
    for (size_t i = 0; i < names.size(); ++i) {
      if (std::ranges::count(made, names[i]) == 0 && !to->Run(statements[i].c_str(), "mend").ok()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the store in ", from->folder(), " is damaged, and ", names[i], ", which another ",
            "program has made in store.sqlite, cannot be made again: drop it with sqlite3, then "
            "try again"));
      }
      HEFT_RETURN_IF_ERROR(fill(names[i]));
    }
    return absl::OkStatus();
  };
  HEFT_RETURN_IF_ERROR(make("=", [&](const std::string& name) {
    return name == "pages used" || name == "pages freed" ? absl::OkStatus() : copy(name);
  }));
  std::string follow;
  for (size_t i = 1; i < kLayouts; ++i) {
    const Layout& layout = LayoutAt(i);
    absl::StrAppend(&follow, "INSERT OR IGNORE INTO gallery (number) SELECT DISTINCT gallery FROM ",
                    layout.name, ";");
    if (!layout.opaque) continue;
    absl::StrAppend(&follow, "INSERT OR IGNORE INTO \"pages used\" SELECT page, (size + ",
                    kRangeHeader + kBlockPage - 1, ") / ", kBlockPage, " FROM ", layout.name,
                    " WHERE page IS NOT NULL;");
  }
  HEFT_RETURN_IF_ERROR(to->Run(follow.c_str(), "mend"));
  return make("<>", [](const std::string&) { return absl::OkStatus(); });
}

// Check: SQLite's own check, and that blocks have exactly the pages that are used. It reads no
// block.
absl::Status StoreTables::Check() const {
  const auto check = [&](const std::string& table) -> absl::StatusOr<bool> {
    const auto said = database_->Texts(absl::StrCat("PRAGMA integrity_check(", table, ")"));
    if (absl::IsDataLoss(said.status())) return false;
    HEFT_RETURN_IF_ERROR(said.status());
    return *said == std::vector<std::string>{"ok"};
  };
  HEFT_ASSIGN_OR_RETURN(const bool intact, check("1"));
  if (!intact) {
    HEFT_ASSIGN_OR_RETURN(
        const auto tables,
        database_->Texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"));
    std::vector<std::string> damaged;
    for (const std::string& table : tables) {
      HEFT_ASSIGN_OR_RETURN(const bool sound, check(absl::StrCat("\"", table, "\"")));
      if (!sound) damaged.push_back(absl::StrCat("the table ", table));
    }
    if (damaged.empty()) damaged.push_back("the list of free pages");
    return DamagedStore(database_->folder(), absl::StrJoin(damaged, ", "));
  }
  HEFT_ASSIGN_OR_RETURN(const uint64_t strays,
                        database_->Number("SELECT count(*) FROM pragma_foreign_key_check"));
  if (strays != 0) return DamagedStore(database_->folder(), "rows belong to no gallery");
  std::vector<PageRange> blocks;
  for (size_t i = 0; i < kLayouts; ++i) {
    if (!LayoutAt(i).opaque) continue;
    HEFT_ASSIGN_OR_RETURN(
        sqlite3_stmt* const select,
        database_->Prepare(absl::StrCat("SELECT page, size FROM ", TableText(LayoutAt(i), kSqlite),
                                        " WHERE page IS NOT NULL")));
    SqlStatement statement(select);
    int rc;
    while ((rc = statement.Step()) == SQLITE_ROW) {
      const uint64_t page = statement.Number(0), size = statement.Number(1);
      blocks.push_back({page, BlockPages(size)});
    }
    if (rc != SQLITE_DONE) return StoreError("check", database_->folder(), rc);
  }
  std::ranges::sort(blocks);
  HEFT_ASSIGN_OR_RETURN(const std::vector<PageRange> used, Used());
  if (blocks != used)
    return DamagedStore(database_->folder(), "blocks and the table pages used differ");
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
