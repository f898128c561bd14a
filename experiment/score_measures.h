// SPDX-License-Identifier: Apache-2.0
// Measures of lists of scores, our own or others': ROC, rates at thresholds, and the change by
// encryption where there are plain and encrypted scores.
#ifndef HEFT_EXPERIMENT_SCORE_MEASURES_H_
#define HEFT_EXPERIMENT_SCORE_MEASURES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/comparisons.h"
#include "evaluation/metrics.h"
#include "heft/evaluate.h"
#include "heft/files.h"

namespace heft::experiment {

// OperatingPoint: the lowest threshold whose FMR is at most the requested one.
struct OperatingPoint {
  double asked = 0;
  bool reached = false;  // false: some impostor has the highest score of all
  double threshold = 0;
  Estimate fmr, fnmr;  // without people their intervals are points
};

// ScoredCurve: one list of scores.
struct ScoredCurve {
  std::string name;
  bool plain = false;  // the scores computed in the clear of the list before
  size_t failed = 0;   // comparisons without a score, which count nowhere
  size_t people = 0;   // 0: the list names none, and there are no intervals
  ScoreSet scores;
  ComparisonEstimate measured;
  double eer_threshold = 0;  // where FMR and FNMR are nearest
  std::vector<OperatingPoint> points;
  std::vector<RocPoint> roc;  // all of it
};

// ScoreChange: encrypted minus plain scores of one list.
struct ScoreChange {
  size_t curve = 0;  // the encrypted one; the plain one is next
  Estimate auroc = {}, fnmr_1e2 = {};
  double largest = 0, rms = 0;
};

struct ScoreMeasures {
  ScoreOptions options;
  std::vector<ScoredCurve> curves;
  std::vector<ScoreChange> changes;
  std::vector<std::string> warnings;
};

// As heft::MeasureScores, without its pictures and files.
absl::StatusOr<ScoreMeasures> MeasureTables(const Monitor& monitor,
                                            std::span<const NamedScores> systems,
                                            const ScoreOptions& options);

Json ToJson(const ScoreMeasures& measures);
std::string ToText(const ScoreMeasures& measures);
// MakeScoreReport: RunGnuplot's errors. `pictures` receives them with names of files.
absl::StatusOr<std::string> MakeScoreReport(
    const ScoreMeasures& measures, std::vector<std::pair<std::string, std::string>>* pictures);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SCORE_MEASURES_H_
