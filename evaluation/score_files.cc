// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/identity.h"
#include "evaluation/name_table.h"
#include "evaluation/text_lines.h"
#include "heft/evaluate.h"

namespace heft {
namespace {

using internal::TextLines;

constexpr uint64_t kMaxBytes = uint64_t{1} << 31;
constexpr uint64_t kMaxInHistogram = 10'000'000;
constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();

// What columns are called: bob.bio's names of today first, those of its earlier versions after.
constexpr std::array<const char*, 1> kEnrolled = {"bio_ref_subject_id"},
                                     kProbe = {"probe_subject_id"}, kScore = {"score"},
                                     kPlain = {"plain"}, kKind = {"kind"}, kSplit = {"split"};
constexpr std::array<const char*, 3> kEnrolledLabel = {"bio_ref_template_id",
                                                       "bio_ref_reference_id", "bio_ref_key"};
constexpr std::array<const char*, 4> kProbeLabel = {"probe_template_id", "probe_key",
                                                    "probe_reference_id", "key"};

// Shown: a field as a message may have it.
std::string Shown(absl::string_view field) { return absl::CHexEscape(field.substr(0, 40)); }

// ScoreField: a number, or NaN where a field is empty or says so.
absl::StatusOr<double> ScoreField(const TextLines& lines, absl::string_view field) {
  double score = kFailed;
  if (field.empty()) return score;
  if (!absl::SimpleAtod(field, &score) || std::isinf(score)) {
    return lines.Bad(absl::StrCat("\"", Shown(field), "\" is not a score: write a number, or ",
                                  "nan for a failed comparison"));
  }
  return score;
}

// TableBuilder: a table with the names that it has.
class TableBuilder {
 public:
  absl::StatusOr<uint32_t> Subject(const TextLines& lines, absl::string_view name) {
    if (name.empty()) return lines.Bad("a subject has no name");
    return Add(lines, name, &subjects_);
  }
  absl::StatusOr<uint32_t> Label(const TextLines& lines, absl::string_view name) {
    return Add(lines, name, &labels_);
  }
  absl::StatusOr<uint32_t> Split(const TextLines& lines, absl::string_view name) {
    return Add(lines, name, &splits_);
  }
  void Add(const ScorePair& pair) { table_.pairs.push_back(pair); }

  absl::StatusOr<ScoreTable> Finish(const TextLines& lines, bool has_plain) {
    if (table_.pairs.empty()) return lines.Bad("holds no comparisons");
    table_.subjects = subjects_.Names();
    table_.labels = labels_.Names();
    table_.splits = splits_.Names();
    table_.has_plain = has_plain;
    return std::move(table_);
  }

 private:
  static absl::StatusOr<uint32_t> Add(const TextLines& lines, absl::string_view name,
                                      NameTable* names) {
    constexpr size_t kLongest = 4096;
    if (const auto found = names->Find(name)) return *found;
    const std::string flaw =
        name.size() > kLongest ? "is too long" : TextFlaw({name.data(), name.size()});
    if (!flaw.empty()) return lines.Bad(absl::StrCat("a name ", flaw));
    return names->Add(name);
  }
  NameTable subjects_, labels_, splits_;
  ScoreTable table_;
};

// CsvColumns: where a CSV has what we read; further columns are passed over.
struct CsvColumns {
  std::optional<size_t> enrolled, probe, enrolled_label, probe_label, score, plain, kind, split;
  size_t count = 0;
};

template <size_t n>
std::optional<size_t> FindColumn(const std::vector<std::string>& header,
                                 const std::array<const char*, n>& names) {
  for (const char* name : names) {
    const auto found = std::ranges::find(header, name);
    if (found != header.end()) return static_cast<size_t>(found - header.begin());
  }
  return std::nullopt;
}

absl::StatusOr<CsvColumns> ReadHeader(const TextLines& lines,
                                      const std::vector<std::string>& header) {
  CsvColumns out;
  out.count = header.size();
  out.enrolled = FindColumn(header, kEnrolled);
  out.probe = FindColumn(header, kProbe);
  out.enrolled_label = FindColumn(header, kEnrolledLabel);
  out.probe_label = FindColumn(header, kProbeLabel);
  out.score = FindColumn(header, kScore);
  out.plain = FindColumn(header, kPlain);
  out.kind = FindColumn(header, kKind);
  out.split = FindColumn(header, kSplit);
  for (const auto& [column, name] :
       {std::pair(out.enrolled, kEnrolled[0]), {out.probe, kProbe[0]}, {out.score, kScore[0]}}) {
    if (!column) return lines.Bad(absl::StrCat("the header has no column \"", name, "\""));
  }
  for (const auto& column : {out.enrolled, out.probe, out.enrolled_label, out.probe_label,
                             out.score, out.plain, out.kind, out.split}) {
    if (!column || std::ranges::count(header, header[*column]) == 1) continue;
    return lines.Bad(absl::StrCat("the header has the column \"", header[*column], "\" twice"));
  }
  return out;
}

absl::StatusOr<ScorePair> CsvPair(const TextLines& lines, const CsvColumns& columns,
                                  const std::vector<std::string>& fields, TableBuilder* table) {
  if (fields.size() != columns.count) {
    return lines.Bad(absl::StrCat(fields.size(), " fields, but the header has ", columns.count));
  }
  const auto field = [&](std::optional<size_t> column) -> absl::string_view {
    return column ? absl::string_view(fields[*column]) : absl::string_view();
  };
  ScorePair pair;
  HEFT_ASSIGN_OR_RETURN(pair.enrolled, table->Subject(lines, field(columns.enrolled)));
  HEFT_ASSIGN_OR_RETURN(pair.probe, table->Subject(lines, field(columns.probe)));
  HEFT_ASSIGN_OR_RETURN(pair.enrolled_label, table->Label(lines, field(columns.enrolled_label)));
  HEFT_ASSIGN_OR_RETURN(pair.probe_label, table->Label(lines, field(columns.probe_label)));
  HEFT_ASSIGN_OR_RETURN(pair.split, table->Split(lines, field(columns.split)));
  HEFT_ASSIGN_OR_RETURN(pair.score, ScoreField(lines, field(columns.score)));
  HEFT_ASSIGN_OR_RETURN(pair.plain, ScoreField(lines, field(columns.plain)));
  pair.genuine = pair.enrolled == pair.probe;
  const absl::string_view kind = field(columns.kind);
  if (columns.kind && kind != (pair.genuine ? "genuine" : "impostor")) {
    return lines.Bad(absl::StrCat("kind \"", Shown(kind), "\" of ",
                                  pair.genuine ? "one subject" : "two subjects", ": write ",
                                  pair.genuine ? "genuine" : "impostor"));
  }
  return pair;
}

absl::StatusOr<ScoreTable> ParseCsv(TextLines& lines) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> header, lines.CsvFields());
  HEFT_ASSIGN_OR_RETURN(const CsvColumns columns, ReadHeader(lines, header));
  TableBuilder table;
  while (lines.Next()) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> fields, lines.CsvFields());
    HEFT_ASSIGN_OR_RETURN(const ScorePair pair, CsvPair(lines, columns, fields, &table));
    table.Add(pair);
  }
  return table.Finish(lines, columns.plain.has_value());
}

// The line's fields are: claimed_id [model_label] real_id test_label score.
absl::StatusOr<ScorePair> ColumnsPair(const TextLines& lines,
                                      const std::vector<absl::string_view>& fields,
                                      TableBuilder* table) {
  const bool five = fields.size() == 5;
  ScorePair pair;
  HEFT_ASSIGN_OR_RETURN(pair.enrolled, table->Subject(lines, fields[0]));
  HEFT_ASSIGN_OR_RETURN(pair.enrolled_label, table->Label(lines, five ? fields[1] : ""));
  HEFT_ASSIGN_OR_RETURN(pair.probe, table->Subject(lines, fields[five ? 2 : 1]));
  HEFT_ASSIGN_OR_RETURN(pair.probe_label, table->Label(lines, fields[five ? 3 : 2]));
  HEFT_ASSIGN_OR_RETURN(pair.split, table->Split(lines, ""));
  HEFT_ASSIGN_OR_RETURN(pair.score, ScoreField(lines, fields.back()));
  pair.genuine = pair.enrolled == pair.probe;
  return pair;
}

absl::StatusOr<ScoreTable> ParseColumns(TextLines& lines, size_t columns) {
  TableBuilder table;
  do {
    const std::vector<absl::string_view> fields = lines.Columns();
    if (fields.size() != columns) {
      return lines.Bad(absl::StrCat(fields.size(), " columns, but the first line has ", columns));
    }
    HEFT_ASSIGN_OR_RETURN(const ScorePair pair, ColumnsPair(lines, fields, &table));
    table.Add(pair);
  } while (lines.Next());
  return table.Finish(lines, false);
}

// PyEER's lists: the scores of one kind, last in their lines.
absl::Status AddList(std::string_view text, std::string_view what, bool genuine,
                     ScoreTable* table) {
  TextLines lines(text, what);
  while (lines.Next()) {
    ScorePair pair;
    pair.genuine = genuine;
    HEFT_ASSIGN_OR_RETURN(pair.score, ScoreField(lines, lines.Columns().back()));
    if (std::isnan(pair.score)) return lines.Bad("a score is not a number");
    table->pairs.push_back(pair);
  }
  return absl::OkStatus();
}

absl::Status AddHistogram(std::string_view text, std::string_view what, ScoreTable* table) {
  TextLines lines(text, what);
  uint64_t total = 0;
  for (uint64_t score = 0; lines.Next(); ++score) {
    uint64_t count = 0;
    if (!absl::SimpleAtoi(lines.Columns().back(), &count)) {
      return lines.Bad("a line of a histogram must be a count of scores");
    }
    if (count > kMaxInHistogram - total) {
      return lines.Bad(absl::StrCat("more than ", kMaxInHistogram, " scores in all"));
    }
    total += count;
    ScorePair pair;
    pair.score = static_cast<double>(score);
    table->pairs.insert(table->pairs.end(), count, pair);
  }
  return absl::OkStatus();
}

}  // namespace

size_t ScoreTable::Failures() const {
  return static_cast<size_t>(
      std::ranges::count_if(pairs, [](const ScorePair& pair) { return std::isnan(pair.score); }));
}

absl::StatusOr<ScoreTable> ParseScores(std::string_view text, std::string_view what) {
  TextLines lines(text, what);
  if (!lines.Next()) return lines.Bad("is empty");
  const absl::StatusOr<std::vector<std::string>> header = lines.CsvFields();
  if (header.ok() && header->size() > 1 && std::ranges::count(*header, kScore[0]) > 0) {
    return ParseCsv(lines);
  }
  const size_t columns = lines.Columns().size();
  if (columns == 4 || columns == 5) return ParseColumns(lines, columns);
  return lines.Bad(
      "neither a CSV whose header has bio_ref_subject_id, probe_subject_id and score, nor "
      "bob.bio's four or five columns (PyEER's lists come in pairs: genuine=FILE and "
      "impostor=FILE)");
}

absl::StatusOr<ScoreTable> ReadScores(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxBytes));
  return ParseScores(text, path);
}

absl::StatusOr<ScoreTable> ParseScoreLists(const ScoreLists& texts, const ScoreLists& names,
                                           bool histogram) {
  ScoreTable table;
  table.named = false;
  table.labels = table.splits = {""};
  HEFT_RETURN_IF_ERROR(AddList(texts.genuine, names.genuine, true, &table));
  const size_t genuine = table.pairs.size();
  HEFT_RETURN_IF_ERROR(histogram ? AddHistogram(texts.impostor, names.impostor, &table)
                                 : AddList(texts.impostor, names.impostor, false, &table));
  if (genuine == 0 || genuine == table.pairs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(genuine == 0 ? names.genuine : names.impostor, ": holds no scores"));
  }
  return table;
}

absl::StatusOr<ScoreTable> ReadScoreLists(const ScoreLists& paths, bool histogram) {
  ScoreLists texts;
  HEFT_ASSIGN_OR_RETURN(texts.genuine, ReadTextFile(paths.genuine, kMaxBytes));
  HEFT_ASSIGN_OR_RETURN(texts.impostor, ReadTextFile(paths.impostor, kMaxBytes));
  return ParseScoreLists(texts, paths, histogram);
}

absl::StatusOr<ScoreTable> SelectSplit(const ScoreTable& table, std::string_view split) {
  const auto found = std::ranges::find(table.splits, split);
  if (found == table.splits.end()) {
    return absl::NotFoundError(absl::StrCat("no comparison is in split \"", std::string(split),
                                            "\"; there are: \"",
                                            absl::StrJoin(table.splits, "\", \""), "\""));
  }
  const auto wanted = static_cast<uint32_t>(found - table.splits.begin());
  ScoreTable out = table;
  std::erase_if(out.pairs, [&](const ScorePair& pair) { return pair.split != wanted; });
  return out;
}

}  // namespace heft
