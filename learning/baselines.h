// SPDX-License-Identifier: Apache-2.0
// The systems that a learned projection has to beat.
#ifndef HEFT_LEARNING_BASELINES_H_
#define HEFT_LEARNING_BASELINES_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/dataset.h"
#include "learning/projection.h"

namespace heft {

struct Baseline {
  std::string name;   // the modality's name, "average", "concatenation", "score_sum", "pca", "lda"
  int dimension = 0;  // of the template, all modalities' together for "score_sum"
  LabelledScores scored;
  std::string unavailable;  // why there are no scores; empty: there are
  std::string note;         // what a reader must know of the scores; may be empty
};

// ScoreBaselines: cosine scores of all pairs of `split`, features scaled to unit length:
//   each modality alone;
//   average          mean of the modalities' vectors, where their dimensions are equal;
//   concatenation    equal weights;
//   score_sum        weighted sum of the modalities' raw cosines, weights by FitScoreWeights;
//   pca, lda         of the concatenated training samples, to `gamma` dimensions or as many as
//                    there are; lda with `shrinkage` of the within-class covariance.
// The training split is used for the last three only. Without training people score_sum has equal
// weights and a note, and pca and lda are unavailable. kInvalidArgument for a split without
// samples, or gamma below 1.
absl::StatusOr<std::vector<Baseline>> ScoreBaselines(const Dataset& dataset, Split split, int gamma,
                                                     double shrinkage = 0.3);

// Scores of all pairs of `split` of one rival: ModalityScores by one modality alone,
// ConcatenationScores those of "concatenation" above, SumOfScores those of "score_sum".
// ScoreBaselines' errors.
absl::StatusOr<LabelledScores> ModalityScores(const Dataset& dataset, Split split,
                                              std::size_t modality);
absl::StatusOr<LabelledScores> ConcatenationScores(const Dataset& dataset, Split split);
absl::StatusOr<LabelledScores> SumOfScores(const Dataset& dataset, Split split);

// LearnedScores: cosine scores of all pairs of `split` under a learned projection (gamma x total
// dimension) and a normaliser, exact or approximate. `outside`, if not null, receives the number
// of samples outside the interval.
absl::StatusOr<LabelledScores> LearnedScores(const Dataset& dataset, Split split,
                                             const FeatureMatrix& projection,
                                             const Normaliser& normaliser = {},
                                             int* outside = nullptr);

// PartialProbeScores: the same where probes (rows of the scores) lack the modalities `missing` and
// templates (columns) are whole; row i of a pair i < j is the probe. `outside` counts probes; with
// `of_templates`, which then normalises the templates instead, it counts those.
absl::StatusOr<LabelledScores> PartialProbeScores(const Dataset& dataset, Split split,
                                                  const FeatureMatrix& projection,
                                                  const Normaliser& normaliser,
                                                  std::span<const int> missing,
                                                  int* outside = nullptr,
                                                  const Normaliser* of_templates = nullptr);

}  // namespace heft

#endif  // HEFT_LEARNING_BASELINES_H_
