// SPDX-License-Identifier: Apache-2.0
// Weights of the weighted sum of raw cosines, sum_m w_m cos_m: a rival that a learned projection
// has to beat.
#ifndef HEFT_LEARNING_SCORE_WEIGHTS_H_
#define HEFT_LEARNING_SCORE_WEIGHTS_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/metrics.h"
#include "features/dataset.h"

namespace heft {

// ScoreWeights: one weight a modality, at least 0. The first is 1; where its fit gave 0, the
// largest is 1.
struct ScoreWeights {
  std::vector<double> weights;
  std::string equal_because;  // why all are 1 instead of fitted; empty: they were fitted
};

// FitScoreWeights: logistic regression of genuine against impostor comparisons on the raw cosines
// of the training people, both kinds weighted alike, with a small ridge. A modality whose weight
// would be negative gets 0 and the others are fitted again. At most 50,000 comparisons of each kind
// are read, evenly spread. Equal weights where the training people have no pairs of both kinds.
// kInvalidArgument for a zero row.
absl::StatusOr<ScoreWeights> FitScoreWeights(const Dataset& dataset);

// FitWeights: the same of comparisons that are given: scores[m] are those of modality m, in one
// order for all modalities. kInvalidArgument where their numbers differ or a kind is missing.
absl::StatusOr<std::vector<double>> FitWeights(std::span<const ScoreSet> scores);

}  // namespace heft

#endif  // HEFT_LEARNING_SCORE_WEIGHTS_H_
