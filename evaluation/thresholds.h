// SPDX-License-Identifier: Apache-2.0
// What a score means: thresholds for chosen false match rates, and a map from scores to evidence.
#ifndef HEFT_EVALUATION_THRESHOLDS_H_
#define HEFT_EVALUATION_THRESHOLDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/metrics.h"
#include "heft/model.h"

namespace heft {

// Threshold: accept a score of at least `threshold` and at most a share `fmr` of the impostor
// comparisons that it was fitted on is accepted.
struct Threshold {
  double fmr = 0.0;  // wanted
  double threshold = 0.0;
  double measured_fmr = 0.0;  // on the scores it was fitted on
  double measured_tmr = 0.0;
  // Whether the data allow kFalseMatchesNeeded false matches at `fmr`.
  bool supported = false;
};

struct ThresholdTable {
  std::vector<Threshold> thresholds;
  int64_t genuine_pairs = 0;
  int64_t impostor_pairs = 0;
  std::string warning;  // empty if every threshold is supported
};

inline constexpr double kStandardFmrs[] = {1e-2, 1e-3, 1e-4};

// CalibrateThresholds: for each wanted FMR (in (0, 1)) the lowest threshold that keeps it on these
// scores, which should be of validation classes. Errors as Verify's.
absl::StatusOr<ThresholdTable> CalibrateThresholds(const ScoreSet& scores,
                                                   std::span<const double> fmrs = kStandardFmrs);

// CalibrateScores fits how scores translate into evidence. Errors as Verify's. A small ridge keeps
// the slope finite where the kinds are separable.
absl::StatusOr<ScoreCalibration> CalibrateScores(const ScoreSet& scores);

}  // namespace heft

#endif  // HEFT_EVALUATION_THRESHOLDS_H_
