// SPDX-License-Identifier: Apache-2.0
// Reads and writes scores of comparisons: our own CSV, and score files of bob.bio and PyEER
// (docs/evaluation.md lists the columns). MeasureScores (heft/evaluate.h) evaluates them. No
// cryptography. Link heft::heft.
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

// ScorePair: one comparison of a probe with a template. Names are indices into the table's lists.
struct ScorePair {
  uint32_t enrolled = 0, probe = 0;              // of subjects
  uint32_t enrolled_label = 0, probe_label = 0;  // of labels: a template's, a probe's
  uint32_t split = 0;                            // of splits
  bool genuine = false;
  double score = 0;  // a similarity; NaN where the comparison failed
  // With an encrypted score: the same score, computed in plain.
  double plain = std::numeric_limits<double>::quiet_NaN();
};

// ScoreTable: comparisons and the names in them. An empty label or split is unknown.
struct ScoreTable {
  std::vector<std::string> subjects, labels, splits;
  std::vector<ScorePair> pairs;
  bool named = true;       // false: only genuine and impostor scores, without subjects
  bool has_plain = false;  // of every pair

  size_t Failures() const;  // pairs without a score
};

// ScoreForm: kCsv is also the format of bob.bio from version 5.0 on; kBob4 and kBob5 are its older
// formats with four and five columns.
enum class ScoreForm { kCsv, kBob4, kBob5 };

// ParseScores: detects the format from the first line. kInvalidArgument, with `what`, the line and
// the reason, for: an unknown format, a different number of fields than before, a score that is
// infinite or not a number, a name that a terminal cannot show, or a kind that contradicts the
// subjects. ReadScores: the same for a file of at most 2 GiB, with ReadFile's errors.
HEFT_EXPORT absl::StatusOr<ScoreTable> ParseScores(std::string_view text, std::string_view what);
HEFT_EXPORT absl::StatusOr<ScoreTable> ReadScores(const std::string& path);

// ScoreLists: the format of PyEER: a file of genuine scores and one of impostor scores, each score
// in the last column. `histogram`: line k (from 0) of the second file is the number of impostor
// scores equal to k.
struct ScoreLists {
  std::string genuine, impostor;
};
// The same errors; kInvalidArgument also for a histogram of more than 10 million scores.
HEFT_EXPORT absl::StatusOr<ScoreTable> ParseScoreLists(const ScoreLists& texts,
                                                       const ScoreLists& names,
                                                       bool histogram = false);
HEFT_EXPORT absl::StatusOr<ScoreTable> ReadScoreLists(const ScoreLists& paths,
                                                      bool histogram = false);

// FormatScores: numbers are read back exactly. kInvalidArgument for a table without names, and in
// columns for a name with a blank. FormatScoreLists leaves out failed comparisons.
HEFT_EXPORT absl::StatusOr<std::string> FormatScores(const ScoreTable& table, ScoreForm form);
HEFT_EXPORT ScoreLists FormatScoreLists(const ScoreTable& table);

// SelectSplit: the comparisons of one split. kNotFound lists the splits.
HEFT_EXPORT absl::StatusOr<ScoreTable> SelectSplit(const ScoreTable& table, std::string_view split);

}  // namespace heft

#endif  // HEFT_SCORE_FILES_H_
