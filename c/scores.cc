// SPDX-License-Identifier: Apache-2.0
#include "c/scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "c/samples.h"

namespace heft::c {
namespace {

// heft_scores_pairs shows the table's own comparisons.
static_assert(sizeof(heft_score_pair) == sizeof(ScorePair));
static_assert(offsetof(heft_score_pair, enrolled) == offsetof(ScorePair, enrolled));
static_assert(offsetof(heft_score_pair, probe) == offsetof(ScorePair, probe));
static_assert(offsetof(heft_score_pair, enrolled_label) == offsetof(ScorePair, enrolled_label));
static_assert(offsetof(heft_score_pair, probe_label) == offsetof(ScorePair, probe_label));
static_assert(offsetof(heft_score_pair, split) == offsetof(ScorePair, split));
static_assert(offsetof(heft_score_pair, genuine) == offsetof(ScorePair, genuine));
static_assert(offsetof(heft_score_pair, score) == offsetof(ScorePair, score));
static_assert(offsetof(heft_score_pair, plain) == offsetof(ScorePair, plain));

// CheckNames: checks that a file keeps the names: writes a table with each of them once, and reads
// it.
absl::Status CheckNames(const ScoreTable& table) {
  ScoreTable once;
  once.subjects = table.named ? table.subjects : std::vector<std::string>{"somebody"};
  once.labels = table.labels;
  once.splits = table.splits;
  const auto subjects = static_cast<uint32_t>(once.subjects.size());
  const auto labels = static_cast<uint32_t>(once.labels.size());
  const auto splits = static_cast<uint32_t>(once.splits.size());
  for (uint32_t i = 0; i < std::max({subjects, labels, splits}); ++i) {
    ScorePair pair;
    pair.enrolled = pair.probe = std::min(i, subjects - 1);
    pair.enrolled_label = pair.probe_label = std::min(i, labels - 1);
    pair.split = std::min(i, splits - 1);
    pair.genuine = true;
    once.pairs.push_back(pair);
  }
  HEFT_ASSIGN_OR_RETURN(const std::string text, FormatScores(once, ScoreForm::kCsv));
  HEFT_ASSIGN_OR_RETURN(const ScoreTable read,
                        ParseScores(text, "names of subjects, labels and splits"));
  if (read.subjects == once.subjects && read.labels == once.labels && read.splits == once.splits) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the name of a subject, label or split would read as another name in a file");
}

absl::Status CheckPair(const ScoreTable& table, size_t i) {
  const ScorePair& pair = table.pairs[i];
  const auto wrong = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("comparison ", i, " ", why));
  };
  const size_t subjects = table.named ? table.subjects.size() : 1;
  if (std::max(pair.enrolled, pair.probe) >= subjects || pair.split >= table.splits.size() ||
      std::max(pair.enrolled_label, pair.probe_label) >= table.labels.size()) {
    return wrong("has an index beyond the names");
  }
  if (std::isinf(pair.score) || (table.has_plain && std::isinf(pair.plain))) {
    return wrong("has an infinite score: use nan for a failed comparison");
  }
  if (table.named && pair.genuine != (pair.enrolled == pair.probe)) {
    return wrong(pair.genuine ? "is genuine, but names two subjects"
                              : "is an impostor's, but names one subject");
  }
  return absl::OkStatus();
}

// MakeScores: completes a table that has names alone.
absl::StatusOr<ScoreTable> MakeScores(const heft_score_pair* pairs, size_t count,
                                      ScoreTable table) {
  if (count == 0) return absl::InvalidArgumentError("score: give at least one comparison");
  table.named = !table.subjects.empty();
  if (table.labels.empty()) table.labels = {""};
  if (table.splits.empty()) table.splits = {""};
  table.pairs.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const heft_score_pair& from = pairs[i];
    ScorePair& to = table.pairs[i];
    to.enrolled = from.enrolled, to.probe = from.probe, to.split = from.split;
    to.enrolled_label = from.enrolled_label, to.probe_label = from.probe_label;
    to.genuine = from.genuine != 0, to.score = from.score;
    if (table.has_plain) to.plain = from.plain;
    HEFT_RETURN_IF_ERROR(CheckPair(table, i));
  }
  HEFT_RETURN_IF_ERROR(CheckNames(table));
  return table;
}

absl::StatusOr<std::string> Format(const ScoreTable& table, std::string_view form) {
  if (form == "csv") return FormatScores(table, ScoreForm::kCsv);
  if (form == "bob4") return FormatScores(table, ScoreForm::kBob4);
  if (form == "bob5") return FormatScores(table, ScoreForm::kBob5);
  if (form == "genuine") return FormatScoreLists(table).genuine;
  if (form == "impostor") return FormatScoreLists(table).impostor;
  return absl::InvalidArgumentError(
      absl::StrCat("form must be \"csv\", \"bob4\", \"bob5\", \"genuine\" or \"impostor\", not \"",
                   std::string(form), "\""));
}

// Gives a table to the caller of a C function.
absl::Status Hand(absl::StatusOr<ScoreTable> table, heft_scores** scores) {
  if (!table.ok()) return table.status();
  *scores = new heft_scores(*std::move(table));
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;
using heft::c::Hand;

heft_status heft_scores_make(const heft_score_pair* pairs, size_t count,
                             const char* const* subjects, size_t subject_count,
                             const char* const* labels, size_t label_count,
                             const char* const* splits, size_t split_count, int with_plain,
                             heft_scores** scores, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(pairs, "pairs", scores, "scores"));
    heft::ScoreTable names;
    HEFT_ASSIGN_OR_RETURN(names.subjects, heft::c::Strings(subjects, subject_count, "subjects"));
    HEFT_ASSIGN_OR_RETURN(names.labels, heft::c::Strings(labels, label_count, "labels"));
    HEFT_ASSIGN_OR_RETURN(names.splits, heft::c::Strings(splits, split_count, "splits"));
    names.has_plain = with_plain != 0;
    return Hand(heft::c::MakeScores(pairs, count, std::move(names)), scores);
  });
}

heft_status heft_scores_read(const char* path, const char* impostor, int histogram,
                             heft_scores** scores, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", scores, "scores"));
    if (impostor == nullptr) return Hand(heft::ReadScores(path), scores);
    return Hand(heft::ReadScoreLists({path, impostor}, histogram != 0), scores);
  });
}

heft_status heft_scores_parse(const char* text, const char* impostor, int histogram,
                              heft_scores** scores, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(text, "text", scores, "scores"));
    if (impostor == nullptr) return Hand(heft::ParseScores(text, "scores"), scores);
    return Hand(heft::ParseScoreLists({text, impostor}, {"genuine", "impostor"}, histogram != 0),
                scores);
  });
}

void heft_scores_free(heft_scores* scores) { heft::c::Free(scores); }

heft_status heft_scores_describe(const heft_scores* scores, heft_result** result,
                                 heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(scores, "scores", result, "result"));
    const heft::ScoreTable& table = scores->table;
    const auto failures = std::ranges::count_if(
        table.pairs, [](const heft::ScorePair& pair) { return std::isnan(pair.score); });
    *result = new heft_result(heft::Json{{"comparisons", table.pairs.size()},
                                         {"failures", failures},
                                         {"named", table.named},
                                         {"with_plain", table.has_plain},
                                         {"subjects", table.subjects},
                                         {"labels", table.labels},
                                         {"splits", table.splits}});
    return absl::OkStatus();
  });
}

heft_status heft_scores_pairs(const heft_scores* scores, const heft_score_pair** pairs,
                              size_t* count, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(scores, "scores", pairs, "pairs", count, "count"));
    *pairs = reinterpret_cast<const heft_score_pair*>(scores->table.pairs.data());
    *count = scores->table.pairs.size();
    return absl::OkStatus();
  });
}

heft_status heft_scores_select(const heft_scores* scores, const char* split, heft_scores** selected,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(scores, "scores", split, "split", selected, "selected"));
    return Hand(heft::SelectSplit(scores->table, split), selected);
  });
}

heft_status heft_scores_format(const heft_scores* scores, const char* form, heft_buffer** text,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(scores, "scores", form, "form", text, "text"));
    HEFT_ASSIGN_OR_RETURN(const std::string written, heft::c::Format(scores->table, form));
    *text = new heft_buffer(std::vector<uint8_t>(written.begin(), written.end()));
    return absl::OkStatus();
  });
}
