// SPDX-License-Identifier: Apache-2.0
// Confidence intervals by the bootstrap over identities. The sample consists of people, not of
// comparisons, and the comparisons of one person depend on each other (R. M. Bolle, N. K. Ratha and
// S. Pankanti, Error analysis of pattern recognition systems: the subsets bootstrap, 2004).
//
// A replicate draws as many identities as there are, with replacement. Let w_a be the number of
// times that a was drawn. A genuine pair of a counts w_a times, and an impostor pair of a and b
// counts w_a * w_b times. Two copies of one identity are never compared with each other, because
// they are the same person and their pair could pass for either kind. Intervals are percentiles of
// the replicates. With several sets of scores (the folds of a cross-validation), each set is
// resampled by itself, and their metrics are averaged.
#ifndef HEFT_EVALUATION_BOOTSTRAP_H_
#define HEFT_EVALUATION_BOOTSTRAP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/metrics.h"
#include "features/matrix.h"

namespace heft {

// LabelledScores: n x n scores of n samples (the upper triangle is read), and their identities
// numbered from 0.
struct LabelledScores {
  FeatureMatrix scores;
  std::vector<int> identities;
};

struct BootstrapOptions {
  int replicates = 1000;     // 10 or more
  double confidence = 0.95;  // in (0, 1): percentiles 2.5 and 97.5
  uint64_t seed = 1;
  // Of larger sets only every k-th impostor pair enters the replicates; the point estimate always
  // uses all pairs.
  uint64_t max_pairs = 2'000'000;
};

// A value with its confidence interval.
struct Estimate {
  double value = 0.0;
  double lo = 0.0;
  double hi = 0.0;
};

struct VerificationEstimate {
  Estimate auroc, eer, tmr_1e2, tmr_1e3;  // means over the sets
  double auroc_spread = 0.0;              // standard deviation of AUROC over the sets, 0 for one
  std::vector<double> auroc_by_set;
  int64_t genuine_pairs = 0;
  int64_t impostor_pairs = 0;
};

// Worse: whether a difference of error rates is a loss: it and the middle of its interval are above
// 0, so that a single comparison does not decide. SurelyWorse: its interval is above 0.
bool Worse(const Estimate& error_difference);
bool SurelyWorse(const Estimate& error_difference);

// SystemComparison: systems measured on the same sets of samples. All see the same replicates, so
// what the people have in common cancels in a difference.
class SystemComparison {
 public:
  explicit SystemComparison(const BootstrapOptions& options = {}) : options_(options) {}

  // Measures one more system. Runs replicates on ParallelFor; the result depends on the seed, not
  // on the number of threads. kInvalidArgument for PairScores's reasons, no set, options out of
  // range, or samples of other identities than those of the systems before.
  absl::StatusOr<VerificationEstimate> Add(std::span<const LabelledScores> sets);

  // AUROC of system `a` minus that of `b`, numbered in the order of Add.
  Estimate Difference(std::size_t a, std::size_t b) const;
  // The same of FNMR at FMR 1e-3: above 0 where `a` is worse.
  Estimate FnmrDifference(std::size_t a, std::size_t b) const;

 private:
  // A metric of one system: mean over the sets, and the same of each replicate.
  struct Metric {
    double value = 0.0;
    std::vector<double> replicates;
  };
  struct System {
    Metric auroc, tmr_1e3;
  };
  Estimate Minus(const Metric& a, const Metric& b) const;
  BootstrapOptions options_;
  std::vector<std::vector<int>> identities_;  // of each set
  std::vector<System> systems_;
};

}  // namespace heft

#endif  // HEFT_EVALUATION_BOOTSTRAP_H_
