// SPDX-License-Identifier: Apache-2.0
// Training under a monitor: it shows every epoch and can stop it.
#ifndef HEFT_EXPERIMENT_TRAINING_H_
#define HEFT_EXPERIMENT_TRAINING_H_

#include <optional>
#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "learning/train.h"
#include "learning/trained_model.h"

namespace heft::experiment {

struct TrainingCurve;  // experiment/reports.h

// TrainWithProgress: one run, shown as "training `name`". With `checkpoint` the state is saved
// there after every epoch, and a run that finds the file goes on from it. `curve`, if not null,
// receives the AUROC of every epoch. kCancelled when interrupted; Train's errors.
absl::StatusOr<TrainResult> TrainWithProgress(const Monitor& monitor, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint = "",
                                              TrainingCurve* curve = nullptr);

// TrainModel: both trainings of `train` on the split of `dataset`, FHE-aware and, if `with_exact`,
// exact, and the model. `name` tells runs apart: "fold 2 of 5".
absl::StatusOr<Model> TrainModel(const Monitor& monitor, const Dataset& dataset,
                                 const TrainOptions& train, const std::string& profile,
                                 bool with_exact, const std::string& name,
                                 const std::optional<FoldNumber>& fold = std::nullopt);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_TRAINING_H_
