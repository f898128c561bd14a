// SPDX-License-Identifier: Apache-2.0
// What a score means: thresholds for any false match rate, and a map from scores to evidence. Both
// are fitted on sets of scores of people who took no part in the training: one set, or the parts of
// a cross-fit, whose people are never compared with those of another.
#ifndef HEFT_EVALUATION_THRESHOLDS_H_
#define HEFT_EVALUATION_THRESHOLDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/comparisons.h"
#include "evaluation/metrics.h"
#include "heft/decisions.h"

namespace heft {

struct ThresholdTable {
  std::vector<DecisionThreshold> thresholds;  // fmr falling
  int64_t genuine_pairs = 0;
  int64_t impostor_pairs = 0;
  std::string warning;  // of those among kStandardFmrs that rest on too few comparisons
};

inline constexpr double kStandardFmrs[] = {1e-2, 1e-3, 1e-4};
// kPointsADecade: of the curve, each 10^(-k / kPointsADecade).
inline constexpr int kPointsADecade = 8;

// UnsupportedRates: which of kStandardFmrs rest on too few comparisons; empty: none.
std::string UnsupportedRates(size_t impostor_pairs);

// PoolScores: the comparisons of all sets. Errors as PairScores's.
absl::StatusOr<ScoreSet> PoolScores(std::span<const LabelledScores> sets);
absl::StatusOr<ScoreSet> PoolScores(std::span<const Comparisons> sets);

// CalibrateThresholds: a curve, from an FMR of 10^(-1/8) down to one false match in all
// comparisons: for each the lowest score that keeps it on the pooled comparisons. Errors as
// Verify's, and for options out of range.
absl::StatusOr<ThresholdTable> CalibrateThresholds(std::span<const LabelledScores> sets,
                                                   const BootstrapOptions& options = {});

absl::StatusOr<ThresholdTable> CalibrateThresholds(std::span<const Comparisons> sets,
                                                   const BootstrapOptions& options = {});

// CalibrateScores fits how scores translate into evidence. Errors as Verify's. A small ridge keeps
// the slope finite where the kinds are separable.
absl::StatusOr<ScoreCalibration> CalibrateScores(const ScoreSet& scores);
absl::StatusOr<ScoreCalibration> CalibrateScores(std::span<const LabelledScores> sets);

}  // namespace heft

#endif  // HEFT_EVALUATION_THRESHOLDS_H_
