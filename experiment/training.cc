// SPDX-License-Identifier: Apache-2.0
#include "experiment/training.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "experiment/reports.h"

namespace heft::experiment {
absl::StatusOr<TrainResult> TrainWithProgress(const Monitor& monitor, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint, TrainingCurve* curve) {
  const Progress progress(monitor, "training " + name);
  TrainHooks hooks;
  std::optional<TrainCheckpoint> resume;
  if (!checkpoint.empty() && FileExists(checkpoint)) {
    if (std::filesystem::is_other(checkpoint)) {  // follows links
      return absl::InvalidArgumentError(
          absl::StrCat(checkpoint, ": give a file for the checkpoint, which is read again"));
    }
    HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(checkpoint));
    HEFT_ASSIGN_OR_RETURN(resume, ParseCheckpoint(text));
    hooks.resume = &*resume;
  }
  hooks.measure_training = curve != nullptr;
  hooks.progress = [&](const TrainProgress& p) {
    if (curve != nullptr) {
      curve->epochs.push_back(p.epoch);
      curve->train_auroc.push_back(p.train_auroc);
      curve->val_auroc.push_back(p.val_auroc);
    }
    progress.Update(p.epoch, p.epochs,
                    absl::StrFormat("loss %.4f, validation AUROC %.4f, %.1f%% outside", p.loss,
                                    p.val_auroc, 100 * p.outside_share));
  };
  if (!train.grid_search) {
    hooks.save = [&](const TrainCheckpoint& state) -> absl::Status {
      if (!checkpoint.empty()) {
        HEFT_RETURN_IF_ERROR(WriteOutput(checkpoint, AsBytes(FormatCheckpoint(state))));
      }
      return CheckNotStopped(monitor);
    };
  }
  HEFT_ASSIGN_OR_RETURN(TrainResult result, Train(dataset, train, hooks));
  if (curve != nullptr) curve->best_epoch = result.best_epoch;
  return result;
}

absl::StatusOr<Model> TrainModel(const Monitor& monitor, const Dataset& dataset,
                                 const TrainOptions& train, const std::string& profile,
                                 bool with_exact, const std::string& name,
                                 const std::optional<FoldNumber>& fold) {
  HEFT_ASSIGN_OR_RETURN(const TrainResult aware,
                        TrainWithProgress(monitor, dataset, train, name + ", FHE-aware"));
  if (!with_exact) return MakeModel(dataset, aware, {profile, nullptr, fold});
  TrainOptions exact_options = train;
  exact_options.fhe_aware = false;
  HEFT_ASSIGN_OR_RETURN(const TrainResult exact,
                        TrainWithProgress(monitor, dataset, exact_options, name + ", exact"));
  return MakeModel(dataset, aware, {profile, &exact, fold});
}

}  // namespace heft::experiment
