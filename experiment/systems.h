// SPDX-License-Identifier: Apache-2.0
// The systems that an evaluation compares: baselines and a model's learned projections, scored on
// plain numbers; and the models by which the engine scores the same under encryption.
#ifndef HEFT_EXPERIMENT_SYSTEMS_H_
#define HEFT_EXPERIMENT_SYSTEMS_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/folds.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "learning/model_scores.h"

namespace heft::experiment {

// A system with the scores of all pairs of one split.
struct SystemScores {
  ScoredSystem system;
  LabelledScores scores;
  std::string unavailable = {};  // why there are no scores; empty: there are
  std::string note = {};         // what a reader must know of the scores; may be empty
};

// Samples of the split, a matrix a modality.
std::vector<FeatureMatrix> ModalityRows(const Dataset& dataset, Split split);

// BaselineLabel: of such a baseline for people: "Face alone", "PCA to 32".
std::string BaselineLabel(const std::string& name, int dimension);
// Every baseline of learning/baselines.h: "face", "average", "concatenation", "pca", ...; also
// those that are unavailable.
absl::StatusOr<std::vector<SystemScores>> BaselineSystems(const Dataset& dataset, Split split,
                                                          int gamma);

// The model's own, in this order: "learned_exact" and "learned_exact_approximate" where the model
// has an exactly trained projection, "fhe_aware_exact", "fhe_aware_plain".
absl::StatusOr<std::vector<SystemScores>> LearnedSystems(const Dataset& dataset, Split split,
                                                         const Model& model);

// The model with its exactly trained projection instead of the FHE-aware one. Its approximation is
// of the same kind and degree, and fitted to that projection on the training split.
// kFailedPrecondition where the model has no exactly trained projection.
absl::StatusOr<Model> ExactlyTrained(const Model& model, const Dataset& dataset);

// KeptItsStart: whether the model's two trainings ended with the same projection, as they do where
// no epoch was better on the validation people than the start that they share. Their rows then
// agree.
bool KeptItsStart(const Model& model);

// What a sample lacks that has modality `only` of `count` alone.
std::vector<int> AllBut(int only, int count);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SYSTEMS_H_
