// SPDX-License-Identifier: Apache-2.0
// The choices that a model's owner has to make, each trained and measured in the same folds: fused
// dimension and approximation, and the modalities' weights.
#ifndef HEFT_EXPERIMENT_CHOICES_H_
#define HEFT_EXPERIMENT_CHOICES_H_

#include <cstdint>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/cross_validation.h"
#include "features/dataset.h"
#include "heft/json.h"

namespace heft::experiment {

struct ChoiceOptions {
  CrossValidationOptions validation;
  uint64_t seed = 1;  // of the trainings
  std::string profile = "compact";
};

// Fused dimensions 16, 32 and 64 (those that the data allow) with normalisation by degree 2, degree
// 3, minimax of degree 7, and exactly after decryption (deferred); then, at 32 dimensions and
// degree 3, weights of the last modality from 0.5 to 2 in the trained projection's start and in
// plain concatenation. Rows are encrypted where the engine can evaluate the model. CrossValidate's
// errors.
absl::StatusOr<CrossValidation> CompareChoices(const Monitor& monitor, const Dataset& dataset,
                                               const ChoiceOptions& options);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_CHOICES_H_
