// SPDX-License-Identifier: Apache-2.0
#include "experiment/protocol.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/files.h"

namespace heft::experiment {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

// A list: its lines that are not blank, in fields, and where each stands.
struct Table {
  std::string path;
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> lines;
  absl::Status Bad(size_t row, const std::string& why) const {
    return absl::InvalidArgumentError(absl::StrCat(path, ", line ", lines[row], ": ", why));
  }
};

absl::StatusOr<Table> ReadTable(const std::string& path, bool commas) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxBytes));
  Table table;
  table.path = path;
  size_t number = 0;
  // Spreadsheets begin a file with a byte order mark.
  for (absl::string_view line : absl::StrSplit(absl::StripPrefix(text, "\xEF\xBB\xBF"), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || (!commas && line[0] == '#')) continue;
    std::vector<std::string> fields;
    if (commas) {
      fields = absl::StrSplit(line, ',');
      for (std::string& field : fields) absl::StripAsciiWhitespace(&field);
    } else {
      fields = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    }
    table.rows.push_back(std::move(fields));
    table.lines.push_back(number);
    if (absl::StrContains(line, '"')) {
      return table.Bad(table.rows.size() - 1,
                       "quoted fields are not supported; write them without quotes");
    }
  }
  return table;
}

// The row that a path names.
absl::StatusOr<int> FindRow(const RowNames& names, const Table& table, size_t line,
                            const std::string& path) {
  auto found = names.find(path);
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (found == names.end() && dot != path.npos && (slash == path.npos || dot > slash)) {
    found = names.find(path.substr(0, dot));
  }
  if (found != names.end()) return found->second;
  return table.Bad(
      line, absl::StrCat("\"", path, "\" is not in the data's names (names.txt, or --names)"));
}

// Adds a row to the entry of this id.
absl::Status AddRow(const Table& table, size_t line, const std::string& id,
                    const std::string& subject, int row, std::vector<ProtocolEntry>* entries,
                    std::map<std::string, size_t>* numbers) {
  const auto [at, fresh] = numbers->try_emplace(id, entries->size());
  if (fresh) entries->push_back({id, subject, {}});
  ProtocolEntry& entry = (*entries)[at->second];
  if (entry.subject != subject) {
    return table.Bad(line, absl::StrCat("\"", id, "\" is of \"", entry.subject, "\" already"));
  }
  if (std::ranges::count(entry.rows, row) > 0) {  // it would count twice in the mean
    return table.Bad(line, absl::StrCat("\"", id, "\" has this sample already: remove the line"));
  }
  entry.rows.push_back(row);
  return absl::OkStatus();
}

absl::StatusOr<size_t> ColumnOf(const Table& table, const std::string& name) {
  const auto& header = table.rows[0];
  const auto found = std::ranges::find(header, name);
  if (found != header.end()) return static_cast<size_t>(found - header.begin());
  return absl::InvalidArgumentError(
      absl::StrCat(table.path, ": the header has no column \"", name, "\""));
}

using Numbers = std::map<std::string, size_t>;

// A file with a header: path, template_id and perhaps subject_id.
absl::Status ReadSamples(const std::string& path, const RowNames& names,
                         std::vector<ProtocolEntry>* entries, Numbers* numbers) {
  HEFT_ASSIGN_OR_RETURN(const Table table, ReadTable(path, true));
  if (table.rows.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  HEFT_ASSIGN_OR_RETURN(const size_t of_path, ColumnOf(table, "path"));
  HEFT_ASSIGN_OR_RETURN(const size_t of_id, ColumnOf(table, "template_id"));
  const size_t of_subject = ColumnOf(table, "subject_id").value_or(of_id);
  for (size_t i = 1; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    if (row.size() != table.rows[0].size()) {
      return table.Bad(i, "the line and the header have different numbers of fields");
    }
    HEFT_ASSIGN_OR_RETURN(const int number, FindRow(names, table, i, row[of_path]));
    HEFT_RETURN_IF_ERROR(AddRow(table, i, row[of_id], row[of_subject], number, entries, numbers));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> FindEntry(const Table& table, size_t line, const Numbers& numbers,
                                 const std::string& id) {
  const auto found = numbers.find(id);
  if (found != numbers.end()) return found->second;
  return table.Bad(line, absl::StrCat("there is no entry with id \"", id, "\""));
}

absl::StatusOr<ProtocolGroup> ReadCsvGroup(const std::string& folder, const RowNames& names) {
  ProtocolGroup group;
  Numbers references, probes;
  HEFT_RETURN_IF_ERROR(ReadSamples(absl::StrCat(folder, "/for_enrolling.csv"), names,
                                   &group.references, &references));
  HEFT_RETURN_IF_ERROR(
      ReadSamples(absl::StrCat(folder, "/for_probing.csv"), names, &group.probes, &probes));
  const std::string matching = absl::StrCat(folder, "/for_matching.csv");
  if (!FileExists(matching)) return group;
  group.all = false;
  HEFT_ASSIGN_OR_RETURN(const Table table, ReadTable(matching, true));
  if (table.rows.empty()) return absl::InvalidArgumentError(absl::StrCat(matching, ": is empty"));
  HEFT_ASSIGN_OR_RETURN(const size_t of_reference, ColumnOf(table, "enroll_template_id"));
  HEFT_ASSIGN_OR_RETURN(const size_t of_probe, ColumnOf(table, "probe_template_id"));
  for (size_t i = 1; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    if (row.size() != table.rows[0].size()) {
      return table.Bad(i, "the line and the header have different numbers of fields");
    }
    HEFT_ASSIGN_OR_RETURN(const size_t reference,
                          FindEntry(table, i, references, row[of_reference]));
    HEFT_ASSIGN_OR_RETURN(const size_t probe, FindEntry(table, i, probes, row[of_probe]));
    group.comparisons.emplace_back(probe, reference);
  }
  return group;
}

// Each line of for_probes.lst or, with the reference that it is compared with, of for_scores.lst.
absl::Status ReadListProbes(const std::string& folder, const RowNames& names,
                            const Numbers& references, ProtocolGroup* group) {
  const std::string probes = absl::StrCat(folder, "/for_probes.lst");
  const std::string scores = absl::StrCat(folder, "/for_scores.lst");
  group->all = FileExists(probes);
  if (group->all && FileExists(scores)) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": contains for_probes.lst and for_scores.lst: keep one of them"));
  }
  HEFT_ASSIGN_OR_RETURN(const Table table, ReadTable(group->all ? probes : scores, false));
  Numbers numbers;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    if (row.size() < 2 || row.size() > (group->all ? 2 : 4) || (!group->all && row.size() < 3)) {
      return table.Bad(i, group->all
                              ? "a probe is: path client_id"
                              : "a comparison is: path model_id claimed_client_id client_id");
    }
    HEFT_ASSIGN_OR_RETURN(const int number, FindRow(names, table, i, row[0]));
    // A path that is compared several times is one probe.
    const bool seen = !group->all && numbers.contains(row[0]);
    const std::string id = group->all ? absl::StrCat(row[0], "#", i) : row[0];
    if (!seen) {
      HEFT_RETURN_IF_ERROR(AddRow(table, i, id, row.back(), number, &group->probes, &numbers));
    } else if (group->probes[numbers[row[0]]].subject != row.back()) {
      return table.Bad(i, "the same path belonged to another person before");
    }
    if (group->all) continue;
    HEFT_ASSIGN_OR_RETURN(const size_t reference, FindEntry(table, i, references, row[1]));
    group->comparisons.emplace_back(numbers[row[0]], reference);
  }
  return absl::OkStatus();
}

absl::StatusOr<ProtocolGroup> ReadListGroup(const std::string& folder, const RowNames& names) {
  ProtocolGroup group;
  Numbers references;
  HEFT_ASSIGN_OR_RETURN(const Table table,
                        ReadTable(absl::StrCat(folder, "/for_models.lst"), false));
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    if (row.size() != 2 && row.size() != 3) {
      return table.Bad(i, "a model's sample is: path model_id client_id");
    }
    HEFT_ASSIGN_OR_RETURN(const int number, FindRow(names, table, i, row[0]));
    HEFT_RETURN_IF_ERROR(
        AddRow(table, i, row[1], row.back(), number, &group.references, &references));
  }
  HEFT_RETURN_IF_ERROR(ReadListProbes(folder, names, references, &group));
  return group;
}

absl::StatusOr<ProtocolGroup> ReadGroup(const std::string& folder, const std::string& name,
                                        const RowNames& names) {
  const std::string path = absl::StrCat(folder, "/", name);
  const bool csv = FileExists(absl::StrCat(path, "/for_enrolling.csv"));
  if (!csv && !FileExists(absl::StrCat(path, "/for_models.lst"))) {
    return absl::NotFoundError(
        absl::StrCat(path, ": contains neither for_enrolling.csv nor for_models.lst"));
  }
  HEFT_ASSIGN_OR_RETURN(ProtocolGroup group,
                        csv ? ReadCsvGroup(path, names) : ReadListGroup(path, names));
  group.name = name;
  if (group.references.empty() || group.probes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the lists have no references or no probes"));
  }
  for (size_t p = 0; group.all && p < group.probes.size(); ++p) {
    for (size_t r = 0; r < group.references.size(); ++r) group.comparisons.emplace_back(p, r);
  }
  return group;
}

}  // namespace

absl::StatusOr<RowNames> ReadRowNames(const std::string& path, int rows) {
  if (!FileExists(path)) {
    return absl::NotFoundError(absl::StrCat(
        path, ": a protocol names samples by paths; write the path of each row into this file"));
  }
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxBytes));
  RowNames names;
  int row = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n')) {
    const std::string name(absl::StripAsciiWhitespace(line));
    if (name.empty() || !names.try_emplace(name, row).second) {
      return absl::InvalidArgumentError(absl::StrCat(path, ", row ", row, " (from 0): \"", name,
                                                     "\": each row needs its own name"));
    }
    ++row;
  }
  if (row == rows) return names;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", row, " names for ", rows, " rows of the data"));
}

absl::StatusOr<Protocol> ReadProtocol(const std::string& folder, const RowNames& names) {
  Protocol protocol;
  HEFT_ASSIGN_OR_RETURN(protocol.dev, ReadGroup(folder, "dev", names));
  for (const char* name : {"eval", "test"}) {
    if (!FileExists(absl::StrCat(folder, "/", name)) || protocol.eval) continue;
    HEFT_ASSIGN_OR_RETURN(protocol.eval, ReadGroup(folder, name, names));
  }
  return protocol;
}

}  // namespace heft::experiment
