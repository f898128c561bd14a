// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "heft/evaluate.h"

namespace heft {
namespace {

// Number: as short as it reads back.
std::string Number(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

// Quoted: a name as a field of a CSV, in quotes where it would be read as something else.
std::string Quoted(const std::string& name) {
  const bool blanks = !name.empty() && (name.front() == ' ' || name.back() == ' ');
  if (!blanks && name.find_first_of(",\"") == name.npos) return name;
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

std::vector<std::string> AllQuoted(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(Quoted(name));
  return out;
}

std::string FormatCsv(const ScoreTable& table) {
  const auto subjects = AllQuoted(table.subjects), labels = AllQuoted(table.labels),
             splits = AllQuoted(table.splits);
  std::string text =
      "bio_ref_subject_id,bio_ref_template_id,probe_subject_id,probe_template_id,kind,split,score";
  absl::StrAppend(&text, table.has_plain ? ",plain\n" : "\n");
  for (const ScorePair& pair : table.pairs) {
    absl::StrAppend(&text, subjects[pair.enrolled], ",", labels[pair.enrolled_label], ",",
                    subjects[pair.probe], ",", labels[pair.probe_label], ",");
    absl::StrAppend(&text, pair.genuine ? "genuine" : "impostor", ",", splits[pair.split], ",",
                    Number(pair.score));
    if (table.has_plain) absl::StrAppend(&text, ",", Number(pair.plain));
    text += '\n';
  }
  return text;
}

absl::Status CheckColumns(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.find_first_of(" \t") == name.npos) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name, "\": columns are separated by blanks, so names cannot contain any: write CSV"));
  }
  return absl::OkStatus();
}

// A template or probe without a label goes by its subject.
absl::StatusOr<std::string> FormatColumns(const ScoreTable& table, bool five) {
  HEFT_RETURN_IF_ERROR(CheckColumns(table.subjects));
  HEFT_RETURN_IF_ERROR(CheckColumns(table.labels));
  const auto label = [&](uint32_t of, uint32_t subject) -> const std::string& {
    return table.labels[of].empty() ? table.subjects[subject] : table.labels[of];
  };
  std::string text;
  for (const ScorePair& pair : table.pairs) {
    absl::StrAppend(&text, table.subjects[pair.enrolled], " ");
    if (five) absl::StrAppend(&text, label(pair.enrolled_label, pair.enrolled), " ");
    absl::StrAppend(&text, table.subjects[pair.probe], " ", label(pair.probe_label, pair.probe),
                    " ", Number(pair.score), "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> FormatScores(const ScoreTable& table, ScoreForm form) {
  if (!table.named) {
    return absl::InvalidArgumentError(
        "these scores name no people: write them as lists of genuine and impostor scores");
  }
  if (form == ScoreForm::kCsv) return FormatCsv(table);
  return FormatColumns(table, form == ScoreForm::kBob5);
}

ScoreLists FormatScoreLists(const ScoreTable& table) {
  ScoreLists texts;
  for (const ScorePair& pair : table.pairs) {
    if (std::isnan(pair.score)) continue;
    absl::StrAppend(pair.genuine ? &texts.genuine : &texts.impostor, Number(pair.score), "\n");
  }
  return texts;
}

}  // namespace heft
