// SPDX-License-Identifier: Apache-2.0
// Scores of comparisons as others read and write them: our own CSV, score files of bob.bio and of
// PyEER (docs/evaluation.md has the columns of each). What is measured on them: MeasureScores
// (heft/evaluate.h). No cryptography. Link heft::heft.
#ifndef HEFT_SCORE_FILES_H_
#define HEFT_SCORE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

// ScorePair: one comparison of a probe with what is enrolled. Names are indices into the table's.
struct ScorePair {
  uint32_t enrolled = 0, probe = 0;              // of subjects
  uint32_t enrolled_label = 0, probe_label = 0;  // of labels: a template's, a probe's
  uint32_t split = 0;                            // of splits
  bool genuine = false;
  double score = 0;  // a similarity; NaN where the comparison failed
  // The same computed in the clear, beside a score computed under encryption.
  double plain = std::numeric_limits<double>::quiet_NaN();
};

// ScoreTable: comparisons, and the names in them. A label or split may be empty: not told.
struct ScoreTable {
  std::vector<std::string> subjects, labels, splits;
  std::vector<ScorePair> pairs;
  bool named = true;       // false: nothing but scores of two kinds; there are no subjects
  bool has_plain = false;  // of every pair

  size_t Failures() const;  // pairs without a score
};

// ScoreForm: kCsv is bob.bio's too, from 5.0 on; kBob4 and kBob5 are its older forms of four and
// five columns.
enum class ScoreForm { kCsv, kBob4, kBob5 };

// ParseScores tells the forms apart by the first line. kInvalidArgument with `what`, the line and
// what is wrong with it: a form that is none of these, another number of fields than before, a
// score that is no number or infinite, a name that a terminal would not show, a kind that does not
// agree with the subjects. ReadScores: the same of a file of at most 2 GiB, and ReadFile's errors.
HEFT_EXPORT absl::StatusOr<ScoreTable> ParseScores(std::string_view text, std::string_view what);
HEFT_EXPORT absl::StatusOr<ScoreTable> ReadScores(const std::string& path);

// ScoreLists: PyEER's form, a file of genuine scores and one of impostors'; scores are the last
// column. `histogram`: line k (from 0) of the second says how many impostor scores are k.
struct ScoreLists {
  std::string genuine, impostor;
};
// The same errors; kInvalidArgument also for a histogram of more than 10 million scores.
HEFT_EXPORT absl::StatusOr<ScoreTable> ParseScoreLists(const ScoreLists& texts,
                                                       const ScoreLists& names,
                                                       bool histogram = false);
HEFT_EXPORT absl::StatusOr<ScoreTable> ReadScoreLists(const ScoreLists& paths,
                                                      bool histogram = false);

// FormatScores: numbers read back exactly. kInvalidArgument for a table without names, and in
// columns for a name with a blank. FormatScoreLists leaves failed comparisons out.
HEFT_EXPORT absl::StatusOr<std::string> FormatScores(const ScoreTable& table, ScoreForm form);
HEFT_EXPORT ScoreLists FormatScoreLists(const ScoreTable& table);

// SelectSplit: the comparisons of one split. kNotFound, with the splits that there are.
HEFT_EXPORT absl::StatusOr<ScoreTable> SelectSplit(const ScoreTable& table, std::string_view split);

}  // namespace heft

#endif  // HEFT_SCORE_FILES_H_
