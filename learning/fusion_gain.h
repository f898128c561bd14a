// SPDX-License-Identifier: Apache-2.0
// Whether fusion is worth it: the fused scores against the best modality alone and against the sum
// of the modalities' scores, on people who took no part in the training.
#ifndef HEFT_LEARNING_FUSION_GAIN_H_
#define HEFT_LEARNING_FUSION_GAIN_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "heft/json.h"
#include "learning/cross_fit.h"

namespace heft {

// EstimateJson: {"value", "lo", "hi"}.
Json EstimateJson(const Estimate& e);

// SystemGain: one system that fusion has to beat.
struct SystemGain {
  std::string name;  // of a modality, or "score_sum"
  VerificationEstimate own;
  Estimate fused_minus;  // AUROC, on the same resampled people
};

struct FusionGain {
  int gamma = 0;
  VerificationEstimate fused;
  std::vector<SystemGain> modalities;
  std::optional<SystemGain> score_sum;  // of two modalities or more
  size_t best = 0;                      // of `modalities`

  // Warning: what to say aloud where fusion loses, and what to do; empty where it does not.
  std::string Warning() const;
  Json ToJson() const;  // "fusion" of a training summary (docs/learning.md)
};

// MeasureFusionGain: Errors as SystemComparison's.
absl::StatusOr<FusionGain> MeasureFusionGain(const CrossFit& fit,
                                             const std::vector<LabelledScores>& fused);

}  // namespace heft

#endif  // HEFT_LEARNING_FUSION_GAIN_H_
