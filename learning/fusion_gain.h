// SPDX-License-Identifier: Apache-2.0
// Whether fusion is worth it: the fused scores against each modality alone, the raw concatenation
// and the weighted sum of raw cosines, on people who took no part in the training.
#ifndef HEFT_LEARNING_FUSION_GAIN_H_
#define HEFT_LEARNING_FUSION_GAIN_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "heft/files.h"
#include "learning/cross_fit.h"

namespace heft {

// EstimateJson: {"value", "lo", "hi"}.
Json EstimateJson(const Estimate& e);

// SystemGain: one system that fusion has to beat.
struct SystemGain {
  std::string name;  // of a modality, "concatenation" or "score_sum"
  VerificationEstimate own;
  Estimate fused_minus;  // AUROC, on the same resampled people
  double fnmr = 1;       // EstimateFnmr at recipe::kFmr (learning/objective.h)
  Estimate fnmr_minus;   // of fusion minus its own, 95%, on the same people
};

struct FusionGain {
  int gamma = 0;
  std::string method;  // that made the projection; empty where it is not known
  VerificationEstimate fused;
  double fnmr = 1;  // of fusion
  std::vector<SystemGain> modalities;
  std::vector<SystemGain> rivals;  // of two modalities or more: concatenation, score_sum
  size_t best = 0;                 // of `modalities`, by `fnmr`

  // Warning: what to say aloud where fusion loses at FMR 1e-3, with the figures, and what to do;
  // empty where it does not.
  std::string Warning() const;
  Json ToJson() const;  // "fusion" of a training summary (docs/learning.md)
};

// MeasureFusionGain: Errors as SystemComparison's.
absl::StatusOr<FusionGain> MeasureFusionGain(const CrossFit& fit,
                                             const std::vector<LabelledScores>& fused);

}  // namespace heft

#endif  // HEFT_LEARNING_FUSION_GAIN_H_
