// SPDX-License-Identifier: Apache-2.0
// False match and false non-match rates at given thresholds, with intervals by resampling people
// (bootstrap.h). Comparisons of several sets of people, each with thresholds of its own, are
// pooled: the folds of a cross-validation, or the parts of a cross-fit. People of different sets
// are never compared. An interval is at least as wide as if all comparisons were independent (rule
// of three where nothing was seen).
#ifndef HEFT_EVALUATION_ERROR_RATES_H_
#define HEFT_EVALUATION_ERROR_RATES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/comparisons.h"

namespace heft {

// ErrorRates: at one threshold of each set.
struct ErrorRates {
  Estimate fmr, fnmr;
};

// PooledRates: at all thresholds, and the comparisons that they rest on.
struct PooledRates {
  std::vector<ErrorRates> at;
  uint64_t genuine_pairs = 0, impostor_pairs = 0;
};

// MeasureErrorRates: thresholds[k] are those of set k, rising, as many for each; rates in their
// order. kInvalidArgument for PairScores's reasons, options out of range, or
// thresholds that do not go with the sets.
absl::StatusOr<PooledRates> MeasureErrorRates(std::span<const LabelledScores> sets,
                                              std::span<const std::vector<double>> thresholds,
                                              const BootstrapOptions& options = {});
absl::StatusOr<PooledRates> MeasureErrorRates(std::span<const Comparisons> sets,
                                              std::span<const std::vector<double>> thresholds,
                                              const BootstrapOptions& options = {});

}  // namespace heft

#endif  // HEFT_EVALUATION_ERROR_RATES_H_
