// SPDX-License-Identifier: Apache-2.0
// The text of SQL statements about the tables of store/layout.h, for SQLite and PostgreSQL.
#ifndef HEFT_STORE_LAYOUT_SQL_H_
#define HEFT_STORE_LAYOUT_SQL_H_

#include <string>
#include <vector>

#include "store/layout.h"

namespace heft {

enum class Dialect : uint8_t { kSqlite, kPostgres };

// All tables: those of kTables, then templates, then other entries.
inline constexpr size_t kTemplateRows = kTables, kOtherRows = kTables + 1;
inline constexpr size_t kLayouts = kTables + 2;
const Layout& LayoutAt(size_t which);

// TableText: the table's name in a statement.
std::string TableText(const Layout& layout, Dialect dialect);
// AllColumns: also those of a long value's place if the table is opaque.
std::vector<Column> AllColumns(const Layout& layout, Dialect dialect);
// ColumnNames: of columns from `from` on, and of a long value's place if the table is opaque:
// "value, page, size" or "value, hash, length".
std::vector<std::string> ColumnNames(const Layout& layout, Dialect dialect, size_t from = 0);
// KeyNames: "gallery, position".
std::string KeyNames(const Layout& layout);
// SelectFrom: "SELECT gallery, ... FROM heft.template": all columns.
std::string SelectFrom(const Layout& layout, Dialect dialect);
// SelectText: all columns of the rows whose key is equal to, at least, or greater than the
// parameters, in order of keys; `limit` is one more parameter.
std::string SelectText(const Layout& layout, Dialect dialect, std::string_view compare, bool limit);
// InsertText: in SQLite, a row with all columns as parameters, or the new columns of one that is
// there and differs.
std::string InsertText(const Layout& layout);
// DeleteText: in SQLite, the row with this key; returns page and size if the table is opaque.
std::string DeleteText(const Layout& layout);
// SchemaText: in SQLite, statements that make all tables but the store's own.
std::string SchemaText();

}  // namespace heft

#endif  // HEFT_STORE_LAYOUT_SQL_H_
