// SPDX-License-Identifier: Apache-2.0
// From the result of a training to the model that client, server and key owner share.
#ifndef HEFT_LEARNING_TRAINED_MODEL_H_
#define HEFT_LEARNING_TRAINED_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "learning/decide.h"
#include "learning/train.h"

namespace heft {

// FoldNumber: the fold, and the cross-validation, that a model was trained in.
struct FoldNumber {
  int folds = 5;
  uint64_t seed = 1;
  int fold = 0;  // from 0
  int rows = 0;  // of the data set
  bool operator==(const FoldNumber&) const = default;
};

// ModelOptions: what a model holds besides the result of its training.
struct ModelOptions {
  std::string profile = "standard";
  const TrainResult* exact = nullptr;  // trained with exact normalisation on the same data
  const Decisions* decisions = nullptr;
  std::optional<FoldNumber> fold = {};
};

// AssembleModel: the model of a result. Whatever its form: for plain scores a degree is good that
// no profile can evaluate.
Model AssembleModel(const Dataset& dataset, const TrainResult& aware,
                    const ModelOptions& options = {});

// MakeModel: the same. Model::Check's errors, and PlanFusion's where the profile cannot evaluate
// the model: found out here instead of when keys are made.
absl::StatusOr<Model> MakeModel(const Dataset& dataset, const TrainResult& aware,
                                const ModelOptions& options = {});

// CheckEvaluable: whether the profile can evaluate what `train` makes of the data, found out before
// the training. CheckTrainOptions' and MakeModel's errors.
absl::Status CheckEvaluable(const Dataset& dataset, const TrainOptions& train,
                            const std::string& profile);

// FoldOf: the fold that a model was trained in; empty if it was not trained in one.
std::optional<FoldNumber> FoldOf(const Model& model);

}  // namespace heft

#endif  // HEFT_LEARNING_TRAINED_MODEL_H_
