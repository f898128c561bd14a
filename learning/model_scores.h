// SPDX-License-Identifier: Apache-2.0
// Scores of labelled samples under a model, in the clear, as the encrypted system computes them.
#ifndef HEFT_LEARNING_MODEL_SCORES_H_
#define HEFT_LEARNING_MODEL_SCORES_H_

#include <span>
#include <string>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/dataset.h"
#include "heft/model.h"

namespace heft {

// SelectModalities: the modalities that the model fuses, in its order, without unpaired samples.
// kInvalidArgument where the data lack one or have another dimension; `directory` is named in
// messages.
absl::StatusOr<Dataset> SelectModalities(Dataset dataset, const Model& model,
                                         const std::string& directory);

// ProjectionOf: gamma x total dimension.
FeatureMatrix ProjectionOf(const Model& model);

// PlainScores: those that the model's profile should give under encryption, templates (columns)
// normalised by the polynomial and so the probes (rows), which lack the modalities `missing`; thin
// probes exactly. `outside`: of those that the polynomial normalises, how many leave its interval;
// of templates, where probes are thin.
absl::StatusOr<LabelledScores> PlainScores(const Dataset& dataset, Split split, const Model& model,
                                           std::span<const int> missing = {},
                                           int* outside = nullptr);

}  // namespace heft

#endif  // HEFT_LEARNING_MODEL_SCORES_H_
