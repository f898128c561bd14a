// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "features/training_data.h"
#include "heft/train.h"
#include "learning/train.h"
#include "learning/trained_model.h"

namespace heft {

absl::StatusOr<Model> Learn(const TrainingData& data, const LearnOptions& options,
                            const Monitor& monitor) {
  const Dataset& dataset = data.impl().dataset;
  TrainOptions train;
  train.gamma = options.gamma;
  train.degree = options.degree;
  train.epochs = options.epochs;
  train.seed = options.seed;
  ModelOptions model;
  model.profile = options.profile;
  HEFT_RETURN_IF_ERROR(CheckEvaluable(dataset, train, model.profile));
  const Progress progress(monitor, "training");
  TrainHooks hooks;
  hooks.progress = [&](const TrainProgress& p) {
    progress.Update(p.epoch, p.epochs, absl::StrCat("validation AUROC ", p.val_auroc));
  };
  hooks.save = [&](const TrainCheckpoint&) -> absl::Status {
    return Stopped(monitor) ? absl::CancelledError("interrupted") : absl::OkStatus();
  };
  HEFT_ASSIGN_OR_RETURN(const TrainResult result, Train(dataset, train, hooks));
  return MakeModel(dataset, result, model);
}

}  // namespace heft
