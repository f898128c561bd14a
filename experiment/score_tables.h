// SPDX-License-Identifier: Apache-2.0
// An experiment's own comparisons as a table (heft/evaluate.h).
#ifndef HEFT_EXPERIMENT_SCORE_TABLES_H_
#define HEFT_EXPERIMENT_SCORE_TABLES_H_

#include <span>
#include <string>
#include <vector>

#include "evaluation/name_table.h"
#include "features/matrix.h"
#include "heft/evaluate.h"

namespace heft::experiment {

// Compared: who and what a row or column of scores is.
struct Compared {
  std::string subject, label;
};

class ScoreTableBuilder {
 public:
  // `plain` is null where the scores are plain themselves, or have no plain ones beside them. It is
  // null in all calls or in none. AddSquare: the upper triangle, which is the measured part, of
  // samples in rows `rows` of the data with labels `identities`. A sample's row is its label.
  void AddSquare(const std::string& split, std::span<const int> rows,
                 std::span<const std::string> identities, const FeatureMatrix& scores,
                 const FeatureMatrix* plain);
  // Add: one comparison.
  void Add(const std::string& split, const Compared& enrolled, const Compared& probe, double score,
           const double* plain);
  ScoreTable Finish();

 private:
  NameTable subjects_, labels_, splits_;
  ScoreTable table_;
};

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SCORE_TABLES_H_
