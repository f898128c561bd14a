// SPDX-License-Identifier: Apache-2.0
// The choices that the caller left open: the method, the fused dimension, and the settings of the
// start.
#ifndef HEFT_LEARNING_CHOOSE_SYSTEM_H_
#define HEFT_LEARNING_CHOOSE_SYSTEM_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "features/dataset.h"
#include "heft/files.h"
#include "learning/objective.h"
#include "learning/start.h"
#include "learning/train.h"

namespace heft {

// SystemTrial: the worth of one system on people that it was not made of.
struct SystemTrial {
  int gamma = 0;
  StartChoice start;          // the best for this method and dimension
  FnmrEstimate error;         // at recipe::kFmr
  FnmrDifference minus_best;  // against the best trial of the same method
};

struct SystemChoice {
  int gamma = 0;
  StartChoice start;
  std::vector<SystemTrial>
      trials;  // by method, then rising gamma; empty where nothing was measured
  // Why another method than learning was taken, or why the chosen system loses to one that was not
  // allowed; empty otherwise.
  std::string fallback;

  // "gamma 64: FNMR 0.0089 at FMR 1e-3; 32: 0.041", for progress and pages.
  std::string Reason() const;
  Json ToJson() const;
};

// GammaCandidates: the recipe's dimensions that data of `total` dimensions have; the largest power
// of two up to `total` where there are none.
std::vector<int> GammaCandidates(int total);
// PaddedDimension: the smallest power of two that holds `total` dimensions, 2 or more.
int PaddedDimension(int total);

// WhatIsOpen: what ChooseSystem may choose. `gammas` rising, not empty.
struct WhatIsOpen {
  std::span<const int> gammas;
  bool method = false;       // else options.method is taken as it is
  int largest_gamma = 1024;  // of method none, which has a dimension of its own where gamma is open
  std::function<bool()> stopped = {};  // asked after each trial: kCancelled
};

// ChooseSystem looks at the training split of `dataset` alone, at starts and not at trained
// projections. For each method it takes the smallest dimension whose estimate is above the best
// one's by no more than recipe::kGammaErrors standard errors or recipe::kGammaTolerance. It
// replaces learning by the best other method where that is better by more than
// recipe::kFallBackErrors. With too few people to tell: DefaultStart and recipe::kPaperGamma, or as
// much of it as the dimensions allow. With method pca and samples without labels:
// recipe::kPcaEnergy. Errors as Train's.
absl::StatusOr<SystemChoice> ChooseSystem(const Dataset& dataset, const TrainOptions& options,
                                          const WhatIsOpen& open);

}  // namespace heft

#endif  // HEFT_LEARNING_CHOOSE_SYSTEM_H_
