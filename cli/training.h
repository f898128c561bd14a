// SPDX-License-Identifier: Apache-2.0
// Training for subcommands: with progress on stderr and an end when the user interrupts; and the
// model that comes of it.
#ifndef HEFT_CLI_TRAINING_H_
#define HEFT_CLI_TRAINING_H_

#include <optional>
#include <string>

#include "base/status.h"
#include "cli/common.h"
#include "features/dataset.h"
#include "fusion/model.h"
#include "learning/train.h"

namespace heft::cli {

// Which fold of which cross-validation a model was trained in; written into its training summary.
struct FoldNumber {
  int folds = 5;
  uint64_t seed = 1;
  int fold = 0;  // from 0
  int rows = 0;  // of the data set
  bool operator==(const FoldNumber&) const = default;
};

// One run, shown as "training `name`". With `checkpoint` the state is saved there after every
// epoch, and a run that finds the file goes on from it. kCancelled when interrupted; Train's
// errors.
absl::StatusOr<TrainResult> TrainWithProgress(const Common& common, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint = "");

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
absl::StatusOr<Model> TrainModel(const Common& common, const Dataset& dataset,
                                 const TrainOptions& train, const std::string& profile,
                                 bool with_exact, const std::string& name,
                                 const std::optional<FoldNumber>& fold = std::nullopt);

// The fold that a model was trained in; empty if it was not trained in one.
std::optional<FoldNumber> FoldOf(const Model& model);

}  // namespace heft::cli

#endif  // HEFT_CLI_TRAINING_H_
