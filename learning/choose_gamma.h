// SPDX-License-Identifier: Apache-2.0
// The fused dimension, chosen where nobody asks for one.
#ifndef HEFT_LEARNING_CHOOSE_GAMMA_H_
#define HEFT_LEARNING_CHOOSE_GAMMA_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/dataset.h"
#include "heft/json.h"
#include "learning/start.h"
#include "learning/train.h"

namespace heft {

// GammaTrial: what a start of one dimension is worth to training people whom it was not made of.
struct GammaTrial {
  int gamma = 0;
  StartChoice start;           // the best for this dimension
  Estimate auroc, minus_best;  // the latter on the same resampled people
};

struct GammaChoice {
  int gamma = 0;
  double blend = 0;                // of the start of that dimension
  std::vector<GammaTrial> trials;  // rising

  // "64: AUROC 0.989; 32 is worse by 0.006 [0.004, 0.008]", for progress and pages.
  std::string Reason() const;
  Json ToJson() const;
};

// GammaCandidates: the recipe's dimensions that data of `total` dimensions have; the largest power
// of two among these where there are none.
std::vector<int> GammaCandidates(int total);

// ChooseGamma: the smallest of `gammas` (rising; one is chosen as it is, for its blend) that is not
// shown to be worse than the best by more than recipe::kGammaTolerance of its errors. Looks at
// training people only, and at starts, not at trained projections: they stand in the same order
// (docs/learning.md). Where there are too few people to tell, recipe::kPaperGamma or what the
// dimensions leave of it. Errors as Train's.
absl::StatusOr<GammaChoice> ChooseGamma(const Dataset& dataset, const TrainOptions& options,
                                        std::span<const int> gammas);

}  // namespace heft

#endif  // HEFT_LEARNING_CHOOSE_GAMMA_H_
