// SPDX-License-Identifier: Apache-2.0
#include "store/layout_sql.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace heft {
namespace {

std::string TypeText(SqlType type, Dialect dialect) {
  const bool sqlite = dialect == Dialect::kSqlite;
  switch (type) {
    case SqlType::kInteger:
      return sqlite ? "INTEGER" : "bigint";
    case SqlType::kReal:
      return sqlite ? "REAL" : "double precision";
    case SqlType::kText:
      return sqlite ? "TEXT" : "text";
    case SqlType::kBytes:
      return sqlite ? "BLOB" : "bytea";
  }
  return {};
}

std::vector<Column> PlaceColumns(Dialect dialect) {
  const bool sqlite = dialect == Dialect::kSqlite;
  std::vector<Column> columns = {
      {"value", SqlType::kBytes, "the bytes; NULL: they are long", true}};
  if (sqlite) {
    columns.push_back(
        {"page", SqlType::kInteger, "first page of a long value in store.blocks", true});
    columns.push_back({"size", SqlType::kInteger, "its bytes", true});
  } else {
    columns.push_back({"hash", SqlType::kBytes, "of a long value in heft.blobs", true});
    columns.push_back({"length", SqlType::kInteger, "its bytes", true});
  }
  return columns;
}

std::vector<Column> AllColumns(const Layout& layout, Dialect dialect) {
  std::vector<Column> columns = layout.columns;
  if (!layout.opaque) return columns;
  for (Column& column : PlaceColumns(dialect)) columns.push_back(std::move(column));
  return columns;
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// Comments: in PostgreSQL they are statements of their own.
std::string Comments(const Layout& layout, const std::vector<Column>& columns) {
  const std::string table = TableText(layout, Dialect::kPostgres);
  std::string text =
      absl::StrCat("COMMENT ON TABLE ", table, " IS ", Quoted(layout.comment), ";\n");
  for (const Column& column : columns) {
    absl::StrAppend(&text, "COMMENT ON COLUMN ", table, ".", column.name, " IS ",
                    Quoted(column.comment), ";\n");
  }
  return text;
}

// TableOf: a row belongs to a gallery by its column of that name.
std::string TableOf(const Layout& layout, Dialect dialect) {
  const bool sqlite = dialect == Dialect::kSqlite;
  const std::vector<Column> columns = AllColumns(layout, dialect);
  std::string text = absl::StrCat("CREATE TABLE ", TableText(layout, dialect), " (");
  if (sqlite) absl::StrAppend(&text, "  -- ", layout.comment);
  for (const Column& column : columns) {
    absl::StrAppend(&text, "\n  ", column.name, " ", TypeText(column.type, dialect),
                    column.optional ? "" : " NOT NULL");
    if (column.name == "gallery") {
      absl::StrAppend(&text, " REFERENCES ", sqlite ? "gallery" : "heft.gallery",
                      " ON DELETE CASCADE");
    }
    absl::StrAppend(&text, ",");
    if (sqlite) absl::StrAppend(&text, "  -- ", column.comment);
  }
  if (layout.opaque) {
    absl::StrAppend(&text, sqlite ? "\n  CHECK ((value IS NULL) = (page IS NOT NULL) AND (page IS "
                                    "NULL) = (size IS NULL)),"
                                  : "\n  CHECK ((value IS NULL) = (hash IS NOT NULL) AND (hash IS "
                                    "NULL) = (length IS NULL)),");
  }
  absl::StrAppend(&text, "\n  PRIMARY KEY (", KeyNames(layout), ")\n)",
                  sqlite ? " STRICT, WITHOUT ROWID" : "", ";\n");
  if (sqlite) return text;
  if (layout.opaque) {
    absl::StrAppend(&text, "ALTER TABLE ", TableText(layout, dialect),
                    " ALTER COLUMN value SET STORAGE EXTERNAL;\n");
  }
  return text + Comments(layout, columns);
}

// A row that goes takes its long value with it: in SQLite its pages are free for later commits.
std::string FreedPages(const Layout& layout) {
  const std::string table = TableText(layout, Dialect::kSqlite);
  return absl::StrCat("CREATE TRIGGER ", layout.name, "_goes AFTER DELETE ON ", table,
                      " WHEN OLD.page IS NOT NULL BEGIN\n"
                      "  INSERT INTO \"pages freed\" SELECT first, count, (SELECT state + 1 FROM "
                      "store) FROM \"pages used\" WHERE first = OLD.page;\n"
                      "  DELETE FROM \"pages used\" WHERE first = OLD.page;\nEND;\n");
}

// kBlobs: each belongs to a gallery, so that it goes with it.
constexpr char kBlobs[] = R"(
CREATE TABLE heft.blobs (
  gallery bigint NOT NULL REFERENCES heft.gallery ON DELETE CASCADE,
  hash bytea NOT NULL CHECK (length(hash) = 32),
  uses bigint NOT NULL CHECK (uses >= 0),
  bytes bytea NOT NULL,
  PRIMARY KEY (hash, gallery)
);
ALTER TABLE heft.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
-- Room in a page for a row's next version: `uses` changes in place.
ALTER TABLE heft.blobs SET (fillfactor = 70);
COMMENT ON TABLE heft.blobs IS 'long values; they never change, so a cache is never stale';
COMMENT ON COLUMN heft.blobs.hash IS 'SHA-256 of the bytes';
COMMENT ON COLUMN heft.blobs.uses IS 'rows that name it; none: it goes with the commit';
)";

// kServer: a role that HEFT's servers connect as may add commits, and needs all rows.
constexpr std::string_view kServer =
    "(SELECT pg_catalog.has_table_privilege('heft.commits', 'INSERT'))";

// Rows are seen by the owner of the tables, by servers, and by members of the gallery's tenant that
// were granted the right to read.
std::string Policy(std::string_view table) {
  return absl::StrCat("ALTER TABLE heft.", std::string(table),
                      " ENABLE ROW LEVEL SECURITY;\nCREATE POLICY tenants ON heft.",
                      std::string(table), "\n  USING (", std::string(kServer),
                      " OR EXISTS (SELECT 1 FROM heft.gallery g WHERE g.number = ",
                      std::string(table), ".gallery));\n");
}

}  // namespace

const Layout& LayoutAt(size_t which) {
  if (which == kTemplateRows) return TemplateLayout();
  return which == kOtherRows ? OtherLayout() : LayoutOf(static_cast<Table>(which));
}

std::string TableText(const Layout& layout, Dialect dialect) {
  return absl::StrCat(dialect == Dialect::kSqlite ? "" : "heft.", layout.name);
}

std::vector<std::string> ColumnNames(const Layout& layout, Dialect dialect, size_t from) {
  std::vector<std::string> names;
  for (const Column& column : AllColumns(layout, dialect)) names.push_back(column.name);
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(from));
  return names;
}

std::string KeyNames(const Layout& layout) {
  std::vector<std::string> names;
  for (size_t i = 0; i < layout.keys; ++i) names.push_back(layout.columns[i].name);
  return absl::StrJoin(names, ", ");
}

std::string SelectFrom(const Layout& layout, Dialect dialect) {
  std::vector<std::string> columns = ColumnNames(layout, dialect);
  const std::vector<Column> all = AllColumns(layout, dialect);
  for (size_t i = 0; dialect != Dialect::kSqlite && i < columns.size(); ++i) {
    // Each type has one binary form in all sessions.
    if (all[i].type == SqlType::kReal) columns[i] = absl::StrCat("float8send(", columns[i], ")");
  }
  return absl::StrCat("SELECT ", absl::StrJoin(columns, ", "), " FROM ",
                      TableText(layout, dialect));
}

std::string SelectText(const Layout& layout, Dialect dialect, std::string_view compare,
                       bool limit) {
  std::vector<std::string> parameters;
  const char* const mark = dialect == Dialect::kSqlite ? "?" : "$";
  for (size_t i = 1; i <= layout.keys; ++i) parameters.push_back(absl::StrCat(mark, i));
  std::string text = absl::StrCat(SelectFrom(layout, dialect), " WHERE (", KeyNames(layout), ") ",
                                  std::string(compare), " (", absl::StrJoin(parameters, ", "), ")");
  if (limit) {
    absl::StrAppend(&text, " ORDER BY ", KeyNames(layout), " LIMIT ", mark, layout.keys + 1);
  }
  return text;
}

std::string InsertText(const Layout& layout) {
  const std::vector<std::string> columns = ColumnNames(layout, Dialect::kSqlite);
  const std::vector<std::string> rest = ColumnNames(layout, Dialect::kSqlite, layout.keys);
  std::vector<std::string> parameters, sets;
  for (size_t i = 1; i <= columns.size(); ++i) parameters.push_back(absl::StrCat("?", i));
  for (const std::string& name : rest) sets.push_back(absl::StrCat(name, " = excluded.", name));
  std::vector<std::string> different;
  for (const std::string& name : rest) {
    different.push_back(absl::StrCat(layout.name, ".", name, " IS NOT excluded.", name));
  }
  return absl::StrCat("INSERT INTO ", layout.name, " (", absl::StrJoin(columns, ", "), ") VALUES (",
                      absl::StrJoin(parameters, ", "), ") ON CONFLICT (", KeyNames(layout),
                      ") DO UPDATE SET ", absl::StrJoin(sets, ", "), " WHERE ",
                      absl::StrJoin(different, " OR "));
}

std::string DeleteText(const Layout& layout) {
  std::vector<std::string> parameters;
  for (size_t i = 1; i <= layout.keys; ++i) parameters.push_back(absl::StrCat("?", i));
  return absl::StrCat("DELETE FROM ", layout.name, " WHERE (", KeyNames(layout), ") = (",
                      absl::StrJoin(parameters, ", "), ")",
                      layout.opaque ? " RETURNING page, size" : "");
}

std::string SchemaText(Dialect dialect) {
  const bool sqlite = dialect == Dialect::kSqlite;
  const Layout& gallery = LayoutOf(Table::kCatalog);
  std::string text;
  if (sqlite) {
    text = absl::StrCat("CREATE TABLE gallery (  -- ", gallery.comment,
                        "\n  number INTEGER PRIMARY KEY,  -- ", gallery.columns[1].comment,
                        "\n  name TEXT UNIQUE,  -- ", gallery.columns[0].comment,
                        "\n  checksum INTEGER  -- ", gallery.columns[2].comment, "\n) STRICT;\n",
                        "CREATE TRIGGER gallery_goes AFTER DELETE ON gallery BEGIN UPDATE store "
                        "SET state = state + 1; END;\n");
  } else {
    text = absl::StrCat(
        "CREATE TABLE heft.gallery (\n  number bigint PRIMARY KEY,\n  name text COLLATE \"C\" "
        "UNIQUE,\n"
        "  checksum bigint,\n  tenant name\n);\n",
        Comments(gallery, gallery.columns),
        "COMMENT ON COLUMN heft.gallery.tenant IS 'a role: its members see the gallery''s rows; "
        "NULL: only the owner of the tables does';\n"
        "ALTER TABLE heft.gallery ENABLE ROW LEVEL SECURITY;\n"
        "CREATE POLICY tenants ON heft.gallery\n  USING (",
        std::string(kServer),
        " OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles r\n"
        "    WHERE r.rolname = tenant AND pg_catalog.pg_has_role(r.oid, 'MEMBER')));\n",
        kBlobs, Policy("blobs"));
  }
  for (size_t i = 1; i < kLayouts; ++i) {
    const Layout& layout = LayoutAt(i);
    absl::StrAppend(&text, "\n", TableOf(layout, dialect));
    if (!sqlite) absl::StrAppend(&text, Policy(layout.name));
    if (sqlite && layout.opaque) absl::StrAppend(&text, FreedPages(layout));
  }
  return text;
}

}  // namespace heft
