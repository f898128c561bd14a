// SPDX-License-Identifier: Apache-2.0
// Comparisons sorted once, then measured under any weights of the identities. Internal to this
// folder: metrics.h and bootstrap.h are the way in.
#ifndef HEFT_EVALUATION_WEIGHTED_PAIRS_H_
#define HEFT_EVALUATION_WEIGHTED_PAIRS_H_

#include <span>
#include <vector>

#include "evaluation/metrics.h"

namespace heft::internal {

class WeightedPairs {
 public:
  // Pairs of identities a and b, genuine where a == b; all three of one size. Sorts.
  WeightedPairs(std::span<const double> scores, std::span<const int> a, std::span<const int> b);

  // The metrics with weight w_a for a genuine pair and w_a * w_b for an impostor pair.
  // auroc is NaN if either kind has no weight.
  VerificationMetrics Measure(std::span<const double> weights) const;

 private:
  struct Pair {
    int a, b;
    bool ends_tie;  // the last pair of its score
  };
  std::vector<Pair> pairs_;  // falling scores
};

}  // namespace heft::internal

#endif  // HEFT_EVALUATION_WEIGHTED_PAIRS_H_
