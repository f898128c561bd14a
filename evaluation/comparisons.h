// SPDX-License-Identifier: Apache-2.0
// Comparisons of probes with enrolled people, where both are made of several samples: lists of
// scores instead of a square of them, measured under the bootstrap over identities (bootstrap.h).
#ifndef HEFT_EVALUATION_COMPARISONS_H_
#define HEFT_EVALUATION_COMPARISONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"

namespace heft {

// Comparisons: of one set of people, numbered from 0. Score i compares a probe of person probe[i]
// with the enrolled template of person enrolled[i].
struct Comparisons {
  std::vector<double> scores;
  std::vector<int> probe, enrolled;
  void Add(double score, int of, int with);
};

// ToComparisons: the upper triangle of a square.
Comparisons ToComparisons(const LabelledScores& scores);
// SplitKinds: PairScores of a list: its errors.
absl::StatusOr<ScoreSet> SplitKinds(const Comparisons& comparisons);

struct ComparisonEstimate {
  Estimate auroc, fnmr_1e2, fnmr_1e3, eer;  // means over the sets
  // From the first system, on the same replicates: of fnmr_1e2 and of auroc.
  Estimate fnmr_change, auroc_change;
  int64_t genuine = 0, impostor = 0;
};

// MeasureComparisons: systems[i][s] is set s of system i; people of different sets are never
// compared, and all systems have the same people in a set. kInvalidArgument where systems differ in
// their sets, a set lacks genuine or impostor scores, or options are out of range.
absl::StatusOr<std::vector<ComparisonEstimate>> MeasureComparisons(
    std::span<const std::vector<Comparisons>> systems, const BootstrapOptions& options = {});

}  // namespace heft

#endif  // HEFT_EVALUATION_COMPARISONS_H_
