// SPDX-License-Identifier: Apache-2.0
// Scores of all pairs of samples by the paper's route.
#ifndef HEFT_PAPER_METHODS_ALL_PAIRS_SCORES_H_
#define HEFT_PAPER_METHODS_ALL_PAIRS_SCORES_H_

#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "features/matrix.h"
#include "heft/model.h"
#include "paper/methods/normalisation_plan.h"

namespace heft::paper {

// PaperScores: n x n, computed under encryption (deferred normalisation: inner products, and the
// squared norms on the diagonal).
struct PaperScores {
  FeatureMatrix scores;
  double predicted_error = 0;  // the noise estimator's bound for one score
  std::string parameters, security;
};

// ScoreByPaperRoute fuses in the paper's dense encoding, packs, and multiplies every packed
// ciphertext with the rotations of every other, so that each pair of templates meets in some
// product. kCancelled when the monitor says so.
absl::StatusOr<PaperScores> ScoreByPaperRoute(const Monitor& monitor, const std::string& name,
                                              const Model& model,
                                              const NormalisationSpec& normalisation,
                                              const std::vector<FeatureMatrix>& modalities);

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_ALL_PAIRS_SCORES_H_
