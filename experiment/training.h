// SPDX-License-Identifier: Apache-2.0
// Training for subcommands: with progress on stderr and an end when the user interrupts; and the
// model that comes of it.
#ifndef HEFT_EXPERIMENT_TRAINING_H_
#define HEFT_EXPERIMENT_TRAINING_H_

#include <optional>
#include <string>

#include "base/human.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/status.h"
#include "evaluation/thresholds.h"
#include "features/dataset.h"
#include "heft/model.h"
#include "learning/train.h"

namespace heft::experiment {

struct TrainingCurve;  // cli/report_plots.h

// Which fold of which cross-validation a model was trained in; written into its training summary.
struct FoldNumber {
  int folds = 5;
  uint64_t seed = 1;
  int fold = 0;  // from 0
  int rows = 0;  // of the data set
  bool operator==(const FoldNumber&) const = default;
};

// One run, shown as "training `name`". With `checkpoint` the state is saved there after every
// epoch, and a run that finds the file goes on from it. `curve`, if not null, receives the AUROC of
// every epoch. kCancelled when interrupted; Train's errors.
absl::StatusOr<TrainResult> TrainWithProgress(const Monitor& monitor, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint = "",
                                              TrainingCurve* curve = nullptr);

// The model of a result; `exact`, trained with exact normalisation, may be null. Whatever its form:
// for plain scores a degree is good that no profile can evaluate.
Model AssembleModel(const Dataset& dataset, const std::string& profile, const TrainResult& aware,
                    const TrainResult* exact, const std::optional<FoldNumber>& fold = std::nullopt);

// The same. Fails where the profile cannot evaluate the model.
absl::StatusOr<Model> MakeModel(const Dataset& dataset, const std::string& profile,
                                const TrainResult& aware, const TrainResult* exact,
                                const std::optional<FoldNumber>& fold = std::nullopt);

// Whether the profile can evaluate what `train` makes of the data, found out before the training.
absl::Status CheckEvaluable(const Dataset& dataset, const std::string& profile,
                            const TrainOptions& train);

// Both trainings of `train` on the split of `dataset`, FHE-aware and, if `with_exact`, exact, and
// the model. `name` tells runs apart on stderr: "fold 2 of 5".
absl::StatusOr<Model> TrainModel(const Monitor& monitor, const Dataset& dataset,
                                 const TrainOptions& train, const std::string& profile,
                                 bool with_exact, const std::string& name,
                                 const std::optional<FoldNumber>& fold = std::nullopt);

// The fold that a model was trained in; empty if it was not trained in one.
std::optional<FoldNumber> FoldOf(const Model& model);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_TRAINING_H_
