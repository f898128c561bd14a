// SPDX-License-Identifier: Apache-2.0
#include "cli/training.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "fusion/plan.h"

namespace heft::cli {
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

}  // namespace

absl::StatusOr<TrainResult> TrainWithProgress(const Common& common, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint) {
  Progress progress(common, "training " + name);
  TrainHooks hooks;
  std::optional<TrainCheckpoint> resume;
  if (!checkpoint.empty() && FileExists(checkpoint)) {
    HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(checkpoint));
    HEFT_ASSIGN_OR_RETURN(resume, ParseCheckpoint(text));
    hooks.resume = &*resume;
  }
  hooks.progress = [&](const TrainProgress& p) {
    progress.Update(p.epoch, p.epochs,
                    absl::StrFormat("loss %.4f, validation AUROC %.4f, %.1f%% outside", p.loss,
                                    p.val_auroc, 100 * p.outside_share));
  };
  if (!train.grid_search) {
    hooks.save = [&](const TrainCheckpoint& state) -> absl::Status {
      if (!checkpoint.empty()) {
        HEFT_RETURN_IF_ERROR(WriteFileAtomic(checkpoint, FormatCheckpoint(state)));
      }
      return Interrupted() ? absl::CancelledError("interrupted") : absl::OkStatus();
    };
  }
  return Train(dataset, train, hooks);
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
  nlohmann::json summary = aware.summary;
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

absl::StatusOr<Model> TrainModel(const Common& common, const Dataset& dataset,
                                 const TrainOptions& train, const std::string& profile,
                                 bool with_exact, const std::string& name,
                                 const std::optional<FoldNumber>& fold) {
  HEFT_ASSIGN_OR_RETURN(const TrainResult aware,
                        TrainWithProgress(common, dataset, train, name + ", FHE-aware"));
  if (!with_exact) return MakeModel(dataset, profile, aware, nullptr, fold);
  TrainOptions exact_options = train;
  exact_options.fhe_aware = false;
  HEFT_ASSIGN_OR_RETURN(const TrainResult exact,
                        TrainWithProgress(common, dataset, exact_options, name + ", exact"));
  return MakeModel(dataset, profile, aware, &exact, fold);
}

std::optional<FoldNumber> FoldOf(const Model& model) {
  const auto summary = nlohmann::json::parse(model.training_summary, nullptr, false);
  if (!summary.is_object()) return std::nullopt;
  const auto found = summary.find("cross_validation");
  if (found == summary.end() || !found->is_object()) return std::nullopt;
  FoldNumber number;
  for (const char* key : {"folds", "seed", "fold", "rows"}) {
    if (!found->contains(key) || !(*found)[key].is_number_unsigned()) return std::nullopt;
  }
  number.folds = (*found)["folds"].get<int>();
  number.seed = (*found)["seed"].get<uint64_t>();
  number.fold = (*found)["fold"].get<int>();
  number.rows = (*found)["rows"].get<int>();
  return number;
}

}  // namespace heft::cli
