// SPDX-License-Identifier: Apache-2.0
#include "experiment/training.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "experiment/report_plots.h"
#include "fusion/plan.h"

namespace heft::experiment {
namespace {

std::vector<double> RowMajor(const FeatureMatrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

// A result of this form before any training: some projection, an approximation of the degree.
absl::StatusOr<TrainResult> FormOf(const TrainOptions& train, const Dataset& dataset) {
  TrainResult form;
  form.projection = FeatureMatrix::Identity(train.gamma, dataset.TotalDimension());
  HEFT_ASSIGN_OR_RETURN(form.approximation, FitMinimax(train.degree, Interval{0.2, 2.2}));
  return form;
}

// An object of the model's training summary, empty if there is none of this name.
Json SummaryPart(const Model& model, const char* name) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  if (!summary.is_object() || !summary.contains(name) || !summary[name].is_object()) {
    return Json::object();
  }
  return summary[name];
}

}  // namespace

absl::StatusOr<TrainResult> TrainWithProgress(const Monitor& monitor, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint, TrainingCurve* curve) {
  Progress progress(monitor, "training " + name);
  TrainHooks hooks;
  std::optional<TrainCheckpoint> resume;
  if (!checkpoint.empty() && FileExists(checkpoint)) {
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
        HEFT_RETURN_IF_ERROR(WriteFileAtomic(checkpoint, FormatCheckpoint(state)));
      }
      return Stopped(monitor) ? absl::CancelledError("interrupted") : absl::OkStatus();
    };
  }
  HEFT_ASSIGN_OR_RETURN(TrainResult result, Train(dataset, train, hooks));
  if (curve != nullptr) curve->best_epoch = result.best_epoch;
  return result;
}

Model AssembleModel(const Dataset& dataset, const std::string& profile, const TrainResult& aware,
                    const TrainResult* exact, const std::optional<FoldNumber>& fold) {
  Model model;
  for (const Modality& m : dataset.modalities) {
    model.modalities.push_back({m.name, static_cast<uint32_t>(m.features.cols())});
  }
  model.gamma = static_cast<uint32_t>(aware.projection.rows());
  model.projection = RowMajor(aware.projection);
  model.approximation = aware.approximation;
  model.profile = profile;
  if (exact != nullptr) model.exact_projection = RowMajor(exact->projection);
  const uint64_t impostors = aware.thresholds.impostor_pairs;
  for (const auto& t : aware.thresholds.thresholds) {
    model.thresholds.push_back({t.fmr, t.threshold, 1 - t.measured_tmr, impostors});
  }
  model.calibration = aware.calibration;
  Json summary = aware.summary;
  if (exact != nullptr) summary["exact"] = exact->summary;
  if (!aware.thresholds.warning.empty()) summary["threshold_warning"] = aware.thresholds.warning;
  if (fold) {
    summary["cross_validation"] = {
        {"folds", fold->folds}, {"seed", fold->seed}, {"fold", fold->fold}, {"rows", fold->rows}};
  }
  model.training_summary = summary.dump();
  return model;
}

absl::StatusOr<Model> MakeModel(const Dataset& dataset, const std::string& profile,
                                const TrainResult& aware, const TrainResult* exact,
                                const std::optional<FoldNumber>& fold) {
  Model model = AssembleModel(dataset, profile, aware, exact, fold);
  HEFT_RETURN_IF_ERROR(model.Check());
  // Fails here, not at keygen, where the profile cannot evaluate this model.
  HEFT_RETURN_IF_ERROR(MakeInstance(model).status());
  return model;
}

absl::Status CheckEvaluable(const Dataset& dataset, const std::string& profile,
                            const TrainOptions& train) {
  HEFT_RETURN_IF_ERROR(CheckTrainOptions(train, dataset));
  HEFT_ASSIGN_OR_RETURN(const TrainResult form, FormOf(train, dataset));
  return MakeModel(dataset, profile, form, nullptr).status();
}

absl::StatusOr<Model> TrainModel(const Monitor& monitor, const Dataset& dataset,
                                 const TrainOptions& train, const std::string& profile,
                                 bool with_exact, const std::string& name,
                                 const std::optional<FoldNumber>& fold) {
  HEFT_ASSIGN_OR_RETURN(const TrainResult aware,
                        TrainWithProgress(monitor, dataset, train, name + ", FHE-aware"));
  if (!with_exact) return MakeModel(dataset, profile, aware, nullptr, fold);
  TrainOptions exact_options = train;
  exact_options.fhe_aware = false;
  HEFT_ASSIGN_OR_RETURN(const TrainResult exact,
                        TrainWithProgress(monitor, dataset, exact_options, name + ", exact"));
  return MakeModel(dataset, profile, aware, &exact, fold);
}

std::optional<FoldNumber> FoldOf(const Model& model) {
  const Json found = SummaryPart(model, "cross_validation");
  for (const char* key : {"folds", "seed", "fold", "rows"}) {
    if (!found.contains(key) || !found[key].is_number_unsigned()) return std::nullopt;
  }
  return FoldNumber{found["folds"].get<int>(), found["seed"].get<uint64_t>(),
                    found["fold"].get<int>(), found["rows"].get<int>()};
}

}  // namespace heft::experiment
