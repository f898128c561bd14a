// SPDX-License-Identifier: Apache-2.0
#include "postgres/sql_entries.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "postgres/schema.h"

namespace heft {
namespace {

absl::StatusOr<Hash> HashOf(const std::optional<ByteSpan>& bytes) {
  Hash hash;
  if (!bytes || bytes->size() != hash.size()) {
    return absl::DataLossError("an entry of the database has a hash of another length");
  }
  std::ranges::copy(*bytes, hash.begin());
  return hash;
}

// Aligned: copies long values to an address that the store promises; short ones may stay in the
// rows' memory.
std::shared_ptr<const Blob> Aligned(ByteSpan bytes, const std::shared_ptr<const void>& memory) {
  if (bytes.size() >= kLongValue) return Blob::Copied(bytes);
  return std::make_shared<Blob>(bytes, memory);
}

constexpr Dialect kPostgres = Dialect::kPostgres;

// Statement: made once per table.
template <typename Make>
const std::string& Statement(size_t which, const Make& make) {
  static const auto* const all = [&] {
    auto* made = new std::array<std::string, kLayouts>;
    for (size_t i = 0; i < kLayouts; ++i) (*made)[i] = make(LayoutAt(i));
    return made;
  }();
  return (*all)[which];
}

uint64_t BigEndian(ByteSpan bytes) {
  uint64_t number = 0;
  for (const uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

// RowOf: the columns of a row, without a long value's place.
Cells RowOf(const SqlRows& rows, size_t row, const Layout& layout) {
  Cells cells;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const auto& value = rows.at(row, i);
    Cell& cell = cells.emplace_back();
    if (!value) continue;
    const SqlType type = layout.columns[i].type;
    if (type == SqlType::kText || type == SqlType::kBytes) {
      cell = *value;
    } else if (type == SqlType::kReal) {
      cell = std::bit_cast<double>(BigEndian(*value));
    } else {
      cell = static_cast<int64_t>(BigEndian(*value));
    }
  }
  return cells;
}

// ParameterOf: of a cell of a key.
SqlParameter ParameterOf(const Cell& cell, SqlType type) {
  if (const auto* const number = std::get_if<int64_t>(&cell)) return *number;
  const auto* const bytes = std::get_if<ByteSpan>(&cell);
  if (bytes == nullptr) return {};
  if (type == SqlType::kBytes) return *bytes;
  return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::vector<SqlParameter> ParametersOf(std::span<const Cell> cells, const Layout& layout) {
  std::vector<SqlParameter> parameters;
  for (size_t i = 0; i < cells.size(); ++i) {
    parameters.push_back(ParameterOf(cells[i], layout.columns[i].type));
  }
  return parameters;
}

// TextOf: the shortest text that gives back the number.
std::string TextOf(double value) {
  std::array<char, 40> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// Arrays: rows as one array for each column, of integers or bytes. Text and real numbers are sent
// as the bytes of their text.
class Arrays {
 public:
  // `keys`: the keys alone; otherwise a long value's place is behind the columns.
  Arrays(const Layout& layout, bool keys) : layout_(layout) {
    const size_t columns = keys ? layout.keys : layout.columns.size();
    for (size_t i = 0; i < columns; ++i) types_.push_back(layout.columns[i].type);
    if (layout.opaque && !keys) {
      types_.insert(types_.end(), {SqlType::kBytes, SqlType::kBytes, SqlType::kInteger});
    }
    integers_.resize(types_.size());
    bytes_.resize(types_.size());
  }
  bool empty() const { return rows_ == 0; }
  void Add(std::span<const Cell> cells) {
    ++rows_;
    for (size_t i = 0; i < types_.size(); ++i) {
      const auto* const number = std::get_if<int64_t>(&cells[i]);
      const auto* const real = std::get_if<double>(&cells[i]);
      const auto* const span = std::get_if<ByteSpan>(&cells[i]);
      if (types_[i] == SqlType::kInteger) {
        integers_[i].push_back(number == nullptr ? std::nullopt : std::optional(*number));
      } else if (real != nullptr) {
        bytes_[i].emplace_back(AsBytes(texts_.emplace_back(TextOf(*real))));
      } else {
        bytes_[i].push_back(span == nullptr ? std::nullopt : std::optional(*span));
      }
    }
  }
  std::vector<SqlParameter> parameters() const {
    std::vector<SqlParameter> all;
    for (size_t i = 0; i < types_.size(); ++i) {
      if (types_[i] == SqlType::kInteger) {
        all.emplace_back(SqlIntegerArray(integers_[i]));
      } else {
        all.emplace_back(SqlBytesArray(bytes_[i]));
      }
    }
    return all;
  }
  // From: "unnest(...) AS u (gallery, position)".
  std::string From() const {
    std::vector<std::string> arrays, names = ColumnNames(layout_, kPostgres);
    names.resize(types_.size());
    for (size_t i = 0; i < types_.size(); ++i) {
      arrays.push_back(
          absl::StrCat("$", i + 1, types_[i] == SqlType::kInteger ? "::bigint[]" : "::bytea[]"));
    }
    return absl::StrCat("unnest(", absl::StrJoin(arrays, ", "), ") AS u (",
                        absl::StrJoin(names, ", "), ")");
  }
  // Values: the columns of these rows in their own types.
  std::string Values() const {
    std::vector<std::string> values, names = ColumnNames(layout_, kPostgres);
    for (size_t i = 0; i < types_.size(); ++i) {
      const std::string text = absl::StrCat("convert_from(u.", names[i], ", 'UTF8')");
      values.push_back(types_[i] == SqlType::kText   ? text
                       : types_[i] == SqlType::kReal ? text + "::float8"
                                                     : absl::StrCat("u.", names[i]));
    }
    return absl::StrJoin(values, ", ");
  }

 private:
  const Layout& layout_;
  std::vector<SqlType> types_;
  std::vector<std::vector<std::optional<int64_t>>> integers_;
  std::vector<std::vector<std::optional<ByteSpan>>> bytes_;
  std::deque<std::string> texts_;
  size_t rows_ = 0;
};

// KeysEqual: "(t.gallery, t.position) = (u.gallery, u.position)".
std::string KeysEqual(const Layout& layout) {
  std::vector<std::string> ours, theirs;
  for (size_t i = 0; i < layout.keys; ++i) {
    ours.push_back(absl::StrCat("t.", layout.columns[i].name));
    theirs.push_back(absl::StrCat("u.", layout.columns[i].name));
  }
  return absl::StrCat("(", absl::StrJoin(ours, ", "), ") = (", absl::StrJoin(theirs, ", "), ")");
}

std::string UpsertText(const Layout& layout) {
  const Arrays arrays(layout, /*keys=*/false);
  std::vector<std::string> sets, ours, theirs;
  for (const std::string& name : ColumnNames(layout, kPostgres, layout.keys)) {
    sets.push_back(absl::StrCat(name, " = excluded.", name));
    ours.push_back("t." + name);
    theirs.push_back("excluded." + name);
  }
  return absl::StrCat("INSERT INTO ", TableText(layout, kPostgres), " AS t (",
                      absl::StrJoin(ColumnNames(layout, kPostgres), ", "), ") SELECT ",
                      arrays.Values(), " FROM ", arrays.From(), " ON CONFLICT (", KeyNames(layout),
                      ") DO UPDATE SET ", absl::StrJoin(sets, ", "), " WHERE (",
                      absl::StrJoin(ours, ", "), ") IS DISTINCT FROM (",
                      absl::StrJoin(theirs, ", "), ")");
}

int64_t GalleryOf(const Cells& row) { return std::get<int64_t>(row[0]); }

}  // namespace

// EntryOf: a row's value, or where it is.
absl::StatusOr<SqlEntry> SqlEntries::EntryOf(const SqlRows& rows, size_t row,
                                             const Layout& layout) const {
  SqlEntry entry;
  const size_t place = layout.columns.size();
  if (rows.at(row, place)) {
    entry.value = Aligned(*rows.at(row, place), rows.memory);
    entry.size = entry.value->bytes().size();
    return entry;
  }
  HEFT_ASSIGN_OR_RETURN(entry.hash, HashOf(rows.at(row, place + 1)));
  HEFT_ASSIGN_OR_RETURN(const int64_t size, SqlInteger(rows.at(row, place + 2)));
  entry.size = static_cast<uint64_t>(size);
  return entry;
}

// TemplatesOf: the templates of these runs, in their order. One gallery at a time: of a range from
// (gallery, position) to (gallery, position) PostgreSQL bounds one end by the index, and looks at
// all templates beyond the other.
absl::StatusOr<std::vector<SqlRows>> SqlEntries::TemplatesOf(std::span<const Cells> runs) const {
  static const std::string* const select = new std::string(
      absl::StrCat(SelectFrom(TemplateLayout(), kPostgres),
                   " WHERE gallery = $1 AND position BETWEEN $2 AND $3 ORDER BY position"));
  std::vector<SqlRows> found;
  for (size_t first = 0, end = 0; first < runs.size(); first = end) {
    while (end < runs.size() && GalleryOf(runs[end]) == GalleryOf(runs[first])) ++end;
    HEFT_ASSIGN_OR_RETURN(
        found.emplace_back(),
        session_->Execute(*select, std::vector<SqlParameter>{GalleryOf(runs[first]),
                                                             RunPositions(runs[first]).first,
                                                             RunPositions(runs[end - 1]).second}));
  }
  return found;
}

// Typed: the entries of the rows that a statement returned, with their templates.
absl::StatusOr<std::vector<SqlEntries::Keyed>> SqlEntries::Typed(Table table,
                                                                 const SqlRows& rows) const {
  const Layout& layout = LayoutOf(table);
  std::vector<Keyed> entries;
  std::vector<SqlRows> templates;
  size_t set = 0, at = 0;  // the next template
  std::vector<Cells> all;
  for (size_t i = 0; i < rows.size(); ++i) all.push_back(RowOf(rows, i, layout));
  if (table == Table::kRoster) {
    HEFT_ASSIGN_OR_RETURN(templates, TemplatesOf(all));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    Keyed& keyed = entries.emplace_back();
    const std::vector<uint8_t> key = JoinKey(table, all[i]);
    keyed.first.assign(key.begin(), key.end());
    if (layout.opaque) {
      HEFT_ASSIGN_OR_RETURN(keyed.second, EntryOf(rows, i, layout));
      continue;
    }
    std::vector<Cells> its;
    if (table == Table::kRoster) {
      if (i > 0 && GalleryOf(all[i]) != GalleryOf(all[i - 1])) ++set, at = 0;
      const auto [first, last] = RunPositions(all[i]);
      for (; at < templates[set].size(); ++at) {
        Cells cells = RowOf(templates[set], at, TemplateLayout());
        const int64_t position = std::get<int64_t>(cells[1]);
        if (position > last) break;
        // One before the run belongs to no run.
        if (position >= first) its.push_back(std::move(cells));
      }
    }
    keyed.second.value = Blob::Copied(JoinValue(table, all[i], its));
    keyed.second.size = keyed.second.value->bytes().size();
  }
  return entries;
}

absl::Status SqlEntries::Read(Table table, ByteSpan from, size_t most, bool alone,
                              const std::function<void(ByteSpan, SqlEntry)>& use) const {
  return alone ? ReadOne(table, from, use) : ReadMany(table, from, most, use);
}

absl::Status SqlEntries::ReadOne(Table table, ByteSpan key,
                                 const std::function<void(ByteSpan, SqlEntry)>& use) const {
  const auto select = [](const Layout& layout) {
    return SelectText(layout, kPostgres, "=", /*limit=*/false);
  };
  const auto which = static_cast<size_t>(table);
  if (const auto cells = SplitKey(table, key)) {
    const Layout& layout = LayoutOf(table);
    HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session_->Execute(Statement(which, select),
                                                                ParametersOf(*cells, layout)));
    HEFT_ASSIGN_OR_RETURN(auto entries, Typed(table, rows));
    if (!entries.empty()) use(key, std::move(entries[0].second));
    if (!entries.empty() || layout.opaque) return absl::OkStatus();
  }
  const std::vector<SqlParameter> parameters = {static_cast<int64_t>(which), key};
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows,
                        session_->Execute(Statement(kOtherRows, select), parameters));
  if (rows.size() == 0) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(SqlEntry entry, EntryOf(rows, 0, OtherLayout()));
  use(key, std::move(entry));
  return absl::OkStatus();
}

// ReadMany: the table's rows and its entries among the others, in one order.
absl::Status SqlEntries::ReadMany(Table table, ByteSpan from, size_t most,
                                  const std::function<void(ByteSpan, SqlEntry)>& use) const {
  const std::string& from_text = Statement(static_cast<size_t>(table), [](const Layout& layout) {
    return SelectText(layout, kPostgres, ">=", /*limit=*/true);
  });
  const std::string& after_text = Statement(static_cast<size_t>(table), [](const Layout& layout) {
    return SelectText(layout, kPostgres, ">", /*limit=*/true);
  });
  const Layout& layout = LayoutOf(table);
  const Bound bound = BoundOf(table, from, /*after=*/false);
  std::vector<SqlParameter> parameters = ParametersOf(bound.key, layout);
  // Only of the catalogue some rows can be before `from`; it is short.
  const bool all = table == Table::kCatalog;
  parameters.emplace_back(all ? INT64_MAX : static_cast<int64_t>(most));
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows,
                        session_->Execute(bound.after ? after_text : from_text, parameters));
  HEFT_ASSIGN_OR_RETURN(std::vector<Keyed> entries, Typed(table, rows));
  std::erase_if(entries, [&](const Keyed& keyed) {
    return std::ranges::lexicographical_compare(AsBytes(keyed.first), from);
  });
  const bool full = entries.size() >= most;
  static const std::string* const select_others = new std::string(absl::StrCat(
      "SELECT ", absl::StrJoin(ColumnNames(OtherLayout(), kPostgres), ", "),
      " FROM heft.other WHERE kind = $1 AND key >= $2 AND ($4::bytea IS NULL OR key <= $4) "
      "ORDER BY key LIMIT $3"));
  parameters = {static_cast<int64_t>(table), from, static_cast<int64_t>(most), std::monostate()};
  if (full) parameters[3] = AsBytes(entries[most - 1].first);
  HEFT_ASSIGN_OR_RETURN(const SqlRows others, session_->Execute(*select_others, parameters));
  for (size_t i = 0; i < others.size(); ++i) {
    if (!others.at(i, 1)) return absl::DataLossError("an entry of the database has no key");
    HEFT_ASSIGN_OR_RETURN(SqlEntry entry, EntryOf(others, i, OtherLayout()));
    entries.emplace_back(std::string(others.at(i, 1)->begin(), others.at(i, 1)->end()),
                         std::move(entry));
  }
  std::ranges::sort(entries, [](const Keyed& a, const Keyed& b) {
    return std::ranges::lexicographical_compare(AsBytes(a.first), AsBytes(b.first));
  });
  if (entries.size() > most) entries.resize(most);
  for (auto& [key, entry] : entries) use(AsBytes(key), std::move(entry));
  return absl::OkStatus();
}

std::shared_ptr<const Blob> SqlEntries::FindCached(const SqlEntry& entry) const {
  if (entry.value != nullptr || cache_ == nullptr) return entry.value;
  return cache_->Find(entry.hash, entry.size);
}

absl::StatusOr<std::shared_ptr<const Blob>> SqlEntries::FetchBlob(const Hash& hash) const {
  const std::vector<SqlParameter> parameters = {ByteSpan(hash)};
  HEFT_ASSIGN_OR_RETURN(
      const SqlRows rows,
      session_->Execute("SELECT bytes FROM heft.blobs WHERE hash = $1 LIMIT 1", parameters));
  if (rows.size() == 0 || !rows.at(0, 0)) {
    return absl::DataLossError(absl::StrCat("the database's blob ", HexString(hash),
                                            " is missing: restore the database from a backup"));
  }
  if (cache_ != nullptr && !added_.contains(hash)) return cache_->Keep(hash, *rows.at(0, 0));
  if (HashBytes(*rows.at(0, 0)) != hash) {
    return absl::DataLossError(
        absl::StrCat("the database's blob ", HexString(hash), " is damaged"));
  }
  return Blob::Copied(*rows.at(0, 0));
}

absl::StatusOr<std::shared_ptr<const Blob>> SqlEntries::Fetch(const SqlEntry& entry) const {
  if (auto cached = FindCached(entry)) return cached;
  HEFT_ASSIGN_OR_RETURN(auto blob, FetchBlob(entry.hash));
  if (blob->bytes().size() == entry.size) return blob;
  return absl::DataLossError(absl::StrCat("the database's blob ", HexString(entry.hash),
                                          " has another length than its entry says"));
}

absl::StatusOr<Hash> SqlEntries::AddBlob(uint32_t gallery, ByteSpan bytes) {
  const Hash hash = HashBytes(bytes);
  const std::vector<SqlParameter> parameters = {ByteSpan(hash), bytes, int64_t{gallery}};
  HEFT_RETURN_IF_ERROR(
      session_
          ->Execute("INSERT INTO heft.blobs AS b (gallery, hash, uses, bytes) VALUES ($3, $1, 1, "
                    "$2) ON CONFLICT (hash, gallery) DO UPDATE SET uses = b.uses + 1",
                    parameters)
          .status());
  added_.insert(hash);
  return hash;
}

// Remove: rows by their keys. The blobs that they name lose a use.
absl::Status SqlEntries::Remove(size_t which, const std::vector<Cells>& keys) {
  const Layout& layout = LayoutAt(which);
  Arrays arrays(layout, /*keys=*/true);
  for (const Cells& key : keys) arrays.Add(key);
  if (arrays.empty()) return absl::OkStatus();
  const std::string& remove = Statement(which, [](const Layout& of) {
    const std::string rows =
        absl::StrCat("DELETE FROM ", TableText(of, kPostgres), " AS t USING ",
                     Arrays(of, /*keys=*/true).From(), " WHERE ", KeysEqual(of));
    if (!of.opaque) return rows;
    return absl::StrCat("WITH gone AS (", rows,
                        " RETURNING t.gallery, t.hash), old AS (SELECT "
                        "gallery, hash, count(*) AS n FROM gone WHERE hash IS NOT NULL GROUP BY "
                        "gallery, hash) UPDATE heft.blobs AS b SET uses = b.uses - old.n FROM old "
                        "WHERE b.hash = old.hash AND b.gallery = old.gallery RETURNING b.hash");
  });
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session_->Execute(remove, arrays.parameters()));
  for (size_t i = 0; layout.opaque && i < rows.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const Hash hash, HashOf(rows.at(i, 0)));
    released_.insert(hash);
  }
  return absl::OkStatus();
}

// HaveGalleries: a row for each that an entry belongs to.
absl::Status SqlEntries::HaveGalleries(Table table, const Changes& changes) {
  std::vector<std::optional<int64_t>> numbers;
  for (const auto& [key, value] : changes) {
    if (value == nullptr) continue;
    const uint32_t number = GalleryOf(table, AsBytes(key), value->bytes());
    if (galleries_.insert(number).second) numbers.emplace_back(number);
  }
  if (numbers.empty()) return absl::OkStatus();
  const std::vector<SqlParameter> parameters = {SqlIntegerArray(numbers)};
  return session_
      ->Execute(
          "INSERT INTO heft.gallery (number) SELECT unnest($1::bigint[]) "
          "ON CONFLICT DO NOTHING",
          parameters)
      .status();
}

// PutName: a gallery has one name; another one is among the other entries.
absl::StatusOr<bool> SqlEntries::PutName(const Cells& row) {
  const std::vector<SqlParameter> parameters = ParametersOf(row, LayoutOf(Table::kCatalog));
  HEFT_ASSIGN_OR_RETURN(
      const SqlRows rows,
      session_->Execute("UPDATE heft.gallery SET name = $1, checksum = $3 WHERE number = $2 AND "
                        "(name IS NULL OR name = $1) RETURNING number",
                        parameters));
  return rows.size() != 0;
}

absl::Status SqlEntries::RemoveTyped(Table table, const std::vector<Cells>& keys) {
  if (table != Table::kCatalog) {
    HEFT_RETURN_IF_ERROR(Remove(static_cast<size_t>(table), keys));
  }
  for (const Cells& key : keys) {
    std::vector<SqlParameter> parameters = ParametersOf(std::span(key).first(1), LayoutOf(table));
    if (table == Table::kCatalog) {
      HEFT_RETURN_IF_ERROR(
          session_
              ->Execute("UPDATE heft.gallery SET name = NULL, checksum = NULL WHERE name = $1",
                        parameters)
              .status());
    } else if (table == Table::kRoster) {
      parameters.emplace_back(RunPositions(key).first);
      parameters.emplace_back(RunPositions(key).second);
      HEFT_RETURN_IF_ERROR(session_
                               ->Execute("DELETE FROM heft.template WHERE gallery = $1 AND "
                                         "position BETWEEN $2 AND $3",
                                         parameters)
                               .status());
    }
  }
  return absl::OkStatus();
}

absl::Status SqlEntries::Upsert(size_t which, const std::vector<Cells>& rows) {
  Arrays arrays(LayoutAt(which), /*keys=*/false);
  for (const Cells& row : rows) arrays.Add(row);
  if (arrays.empty()) return absl::OkStatus();
  return session_->Execute(Statement(which, UpsertText), arrays.parameters()).status();
}

// PutOpaque: rows with their values behind their columns.
absl::Status SqlEntries::PutOpaque(size_t which, std::vector<Cells> rows) {
  const Layout& layout = LayoutAt(which);
  const size_t place = layout.columns.size();
  std::vector<Cells> keys;
  std::deque<Hash> hashes;
  // Before the rows that lose blobs: one that is put again stays.
  for (Cells& row : rows) {
    keys.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(layout.keys));
    const ByteSpan value = std::get<ByteSpan>(row[place]);
    row.resize(place + 3);
    if (value.size() < kSqlBlob) continue;
    const auto gallery =
        static_cast<uint32_t>(std::get<int64_t>(row[which == kOtherRows ? layout.keys : 0]));
    HEFT_ASSIGN_OR_RETURN(hashes.emplace_back(), AddBlob(gallery, value));
    row[place] = Cell();
    row[place + 1] = ByteSpan(hashes.back());
    row[place + 2] = static_cast<int64_t>(value.size());
  }
  HEFT_RETURN_IF_ERROR(Remove(which, keys));
  return Upsert(which, rows);
}

absl::Status SqlEntries::Write(Table table, const Changes& changes) {
  HEFT_RETURN_IF_ERROR(HaveGalleries(table, changes));
  const Layout& layout = LayoutOf(table);
  const auto which = static_cast<size_t>(table);
  std::deque<SplitEntry> entries;  // memory of texts
  std::vector<Cells> rows, templates, gone, gone_templates, others, gone_others;
  for (const auto& [text, value] : changes) {
    const ByteSpan key = AsBytes(text);
    const Cells other = {static_cast<int64_t>(which), key};
    auto cells = SplitKey(table, key);
    auto entry = value == nullptr ? std::nullopt : Split(table, key, value->bytes());
    const bool alone = cells.has_value() && layout.opaque;  // never among the others
    bool fits = entry.has_value();
    // Another gallery may have had the name.
    if (fits && table == Table::kCatalog) {
      HEFT_RETURN_IF_ERROR(RemoveTyped(table, {*cells}));
      HEFT_ASSIGN_OR_RETURN(fits, PutName(entry->row));
    } else if (fits) {
      SplitEntry& kept = entries.emplace_back(*std::move(entry));
      if (layout.opaque) kept.row.emplace_back(value->bytes());
      rows.push_back(kept.row);
      size_t next = 0;
      for (int64_t at = 0; table == Table::kRoster && at < kRunPositions; ++at) {
        const int64_t position = RunPositions(kept.row).first + at;
        const bool here =
            next < kept.templates.size() && std::get<int64_t>(kept.templates[next][1]) == position;
        if (here) templates.push_back(kept.templates[next++]);
        if (!here) gone_templates.push_back({kept.row[0], position});
      }
    } else if (cells) {
      gone.push_back(*std::move(cells));
    }
    if (alone) continue;
    if (fits || value == nullptr) {
      gone_others.push_back(other);
    } else {
      others.push_back({other[0], other[1],
                        static_cast<int64_t>(GalleryOf(table, key, value->bytes())),
                        value->bytes()});
    }
  }
  HEFT_RETURN_IF_ERROR(RemoveTyped(table, gone));
  if (layout.opaque) {
    HEFT_RETURN_IF_ERROR(PutOpaque(which, std::move(rows)));
  } else {
    HEFT_RETURN_IF_ERROR(Upsert(which, rows));
  }
  HEFT_RETURN_IF_ERROR(Remove(kTemplateRows, gone_templates));
  HEFT_RETURN_IF_ERROR(Upsert(kTemplateRows, templates));
  HEFT_RETURN_IF_ERROR(Remove(kOtherRows, gone_others));
  return PutOpaque(kOtherRows, std::move(others));
}

absl::Status SqlEntries::DropUnused() {
  if (released_.empty()) return absl::OkStatus();
  std::vector<std::optional<ByteSpan>> hashes;
  for (const Hash& hash : released_) hashes.emplace_back(hash);
  const std::vector<SqlParameter> parameters = {SqlBytesArray(hashes)};
  const absl::Status dropped =
      session_->Execute("DELETE FROM heft.blobs WHERE uses = 0 AND hash = ANY ($1)", parameters)
          .status();
  if (dropped.ok()) released_.clear();
  return dropped;
}

}  // namespace heft
