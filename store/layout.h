// SPDX-License-Identifier: Apache-2.0
// The tables of a store as people see them in SQLite and PostgreSQL. Each table of store.h is a
// table with a column for each field of its keys and values. An entry's bytes, which checksums and
// the Merkle root cover, are made from its columns.
//
// An entry that does not fit its table's columns is kept as bytes in the table `other`: a second
// copy (gallery/checked_store.h), a damaged record, a kind of record without columns. An entry is
// split only if its columns give back exactly its bytes.
//
// Every row belongs to a row of the table `gallery`, and goes with it.
#ifndef HEFT_STORE_LAYOUT_H_
#define HEFT_STORE_LAYOUT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "store/store.h"

namespace heft {

enum class SqlType : uint8_t { kInteger, kReal, kText, kBytes };

// Cell: a value in a column of its type, or NULL. Text and bytes belong to others. Numbers above
// 2^63 are stored as negative ones.
using Cell = std::variant<std::monostate, int64_t, double, ByteSpan>;
using Cells = std::vector<Cell>;

struct Column {
  std::string name;
  SqlType type = SqlType::kInteger;
  std::string comment;
  bool optional = false;  // may be NULL
};

// Layout: a table. The first `keys` columns are its primary key.
struct Layout {
  std::string name, comment;
  std::vector<Column> columns;
  size_t keys = 0;
  // The value is not split: it is in a column of bytes, or where long values are.
  bool opaque = false;
};

// LayoutOf: of kCatalog it is the table `gallery`, whose rows are made by any entry of a gallery;
// the entry of the catalogue fills in name and checksum.
const Layout& LayoutOf(Table table);
// TemplateLayout: a row for each position of a run, beside the row of kRoster with its checksum.
const Layout& TemplateLayout();
// OtherLayout: the entries that do not fit.
const Layout& OtherLayout();

// SplitEntry: an entry as a row, and its templates if it is a run.
struct SplitEntry {
  Cells row;
  std::vector<Cells> templates;
  std::deque<std::string> texts;  // memory of cells
};
// SplitKey: nothing for a key that does not fit.
std::optional<Cells> SplitKey(Table table, ByteSpan key);
// Split: of opaque tables the key alone. The cells point into `key` and `value`.
std::optional<SplitEntry> Split(Table table, ByteSpan key, ByteSpan value);
// NextTemplate: gives the templates of a run, in their order, then nullptr. Each is used before the
// next one is asked for.
using NextTemplate = std::function<const Cells*()>;
// JoinKey, JoinValue: `row` has all columns, or at least the key's; `next` is asked for a run
// alone. A row that no entry could have made has an empty value, which is damaged.
std::vector<uint8_t> JoinKey(Table table, std::span<const Cell> row);
std::vector<uint8_t> JoinValue(Table table, std::span<const Cell> row, const NextTemplate& next);
std::vector<uint8_t> JoinValue(Table table, std::span<const Cell> row,
                               std::span<const Cells> templates);

// Bound: the rows of a table whose keys are at least `from`: behind `key`, with `key` itself unless
// `after`. It may have some rows before `from`.
struct Bound {
  Cells key;
  bool after = false;
};
Bound BoundOf(Table table, ByteSpan from, bool after);

// GalleryOf: the number of the gallery that an entry belongs to; 0 if its key has none.
uint32_t GalleryOf(Table table, ByteSpan key, ByteSpan value);
// kRunPositions: the positions of a run.
inline constexpr int64_t kRunPositions = 64;
// RunPositions: the first and the last position of the run that has this row.
std::pair<int64_t, int64_t> RunPositions(std::span<const Cell> row);

}  // namespace heft

#endif  // HEFT_STORE_LAYOUT_H_
