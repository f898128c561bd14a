// SPDX-License-Identifier: Apache-2.0
#include "store/layout_sql.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace heft {
namespace {

std::string TypeText(SqlType type) {
  switch (type) {
    case SqlType::kInteger:
      return "INTEGER";
    case SqlType::kReal:
      return "REAL";
    case SqlType::kText:
      return "TEXT";
    case SqlType::kBytes:
      return "BLOB";
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

// TableOf: a row belongs to a gallery by its column of that name.
std::string TableOf(const Layout& layout) {
  std::string text = absl::StrCat("CREATE TABLE ", layout.name, " (  -- ", layout.comment);
  for (const Column& column : AllColumns(layout, Dialect::kSqlite)) {
    absl::StrAppend(&text, "\n  ", column.name, " ", TypeText(column.type),
                    column.optional ? "" : " NOT NULL",
                    column.name == "gallery" ? " REFERENCES gallery ON DELETE CASCADE" : "",
                    ",  -- ", column.comment);
  }
  if (layout.opaque) {
    absl::StrAppend(&text,
                    "\n  CHECK ((value IS NULL) = (page IS NOT NULL) AND (page IS NULL) = "
                    "(size IS NULL)),");
  }
  return absl::StrCat(text, "\n  PRIMARY KEY (", KeyNames(layout), ")\n) STRICT, WITHOUT ROWID;\n");
}

// A row that goes takes its long value with it: in SQLite its pages are free for later commits.
std::string FreedPages(const Layout& layout) {
  return absl::StrCat("CREATE TRIGGER ", layout.name, "_goes AFTER DELETE ON ", layout.name,
                      " WHEN OLD.page IS NOT NULL BEGIN\n"
                      "  INSERT INTO \"pages freed\" SELECT first, count, (SELECT state + 1 FROM "
                      "store) FROM \"pages used\" WHERE first = OLD.page;\n"
                      "  DELETE FROM \"pages used\" WHERE first = OLD.page;\nEND;\n");
}

}  // namespace

const Layout& LayoutAt(size_t which) {
  if (which == kTemplateRows) return TemplateLayout();
  return which == kOtherRows ? OtherLayout() : LayoutOf(static_cast<Table>(which));
}

std::vector<Column> AllColumns(const Layout& layout, Dialect dialect) {
  std::vector<Column> columns = layout.columns;
  if (!layout.opaque) return columns;
  for (Column& column : PlaceColumns(dialect)) columns.push_back(std::move(column));
  return columns;
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

std::string SchemaText() {
  const Layout& gallery = LayoutOf(Table::kCatalog);
  std::string text = absl::StrCat(
      "CREATE TABLE gallery (  -- ", gallery.comment, "\n  number INTEGER PRIMARY KEY,  -- ",
      gallery.columns[1].comment, "\n  name TEXT UNIQUE,  -- ", gallery.columns[0].comment,
      "\n  checksum INTEGER  -- ", gallery.columns[2].comment, "\n) STRICT;\n",
      "CREATE TRIGGER gallery_goes AFTER DELETE ON gallery BEGIN UPDATE store SET state = state + "
      "1; "
      "END;\n");
  for (size_t i = 1; i < kLayouts; ++i) {
    const Layout& layout = LayoutAt(i);
    absl::StrAppend(&text, "\n", TableOf(layout), layout.opaque ? FreedPages(layout) : "");
  }
  return text;
}

}  // namespace heft
