// SPDX-License-Identifier: Apache-2.0
#include "learning/learn.h"

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/progress.h"
#include "evaluation/folds.h"
#include "features/dataset.h"
#include "fusion/profile.h"
#include "learning/choose_gamma.h"
#include "learning/cross_fit.h"
#include "learning/decide.h"
#include "learning/recipe.h"
#include "learning/trained_model.h"

namespace heft {
namespace {

// Beyond, the proof of a template's norm has no room for flooding: at 256 it lacks 0.8 bits, and
// errors grow with the square root.
constexpr int kMostFlooded = 64;

// The state to go on from; none where the file is not there.
absl::StatusOr<std::optional<TrainCheckpoint>> ReadCheckpoint(const std::string& path) {
  if (path.empty() || !FileExists(path)) return std::nullopt;
  if (std::filesystem::is_other(path)) {  // follows links
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": give a file for the checkpoint, which is read again"));
  }
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseCheckpoint(text);
}

// The options with the recipe's own form of normalisation where none was asked for.
absl::StatusOr<TrainOptions> Resolve(const LearnOptions& options) {
  TrainOptions train;
  HEFT_ASSIGN_OR_RETURN(train.recipe, ParseRecipe(options.recipe));
  const bool paper = train.recipe == Recipe::kPaper;
  const std::string own = paper ? "least_squares" : "minimax";
  HEFT_ASSIGN_OR_RETURN(train.fit, ParseFitKind(options.fit.empty() ? own : options.fit));
  train.degree = options.degree != 0 ? options.degree : paper ? 2 : 3;
  train.gamma = options.gamma;  // 0 is resolved later
  train.lambda = options.lambda;
  train.margin = options.margin;
  train.grid_search = options.grid_search;
  train.epochs = options.epochs;
  train.patience = options.patience;
  train.learning_rate = options.learning_rate;
  train.weight_decay = options.weight_decay;
  train.shrinkage = options.shrinkage;
  train.drop_modality = options.drop_modality;
  train.modality_weights = options.modality_weights;
  train.seed = options.seed;
  return train;
}

// DecideAcross: the cross-fit and what is fitted to its scores.
absl::StatusOr<Decisions> DecideAcross(const Monitor& monitor, const Dataset& dataset,
                                       const TrainOptions& train, const TrainResult& shipped,
                                       const Profile& profile, const std::string& name) {
  TrainOptions options = train;
  options.grid_search = false;  // lambda and margin as chosen, like gamma
  options.lambda = shipped.summary["options"]["lambda"].get<double>();
  options.margin = shipped.summary["options"]["margin"].get<double>();
  HEFT_ASSIGN_OR_RETURN(const CrossFit fit, FitAcross(monitor, dataset, options, shipped, name));
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  return Decide(fit, profile.thin() ? ProbeLength::kExact : ProbeLength::kApproximate, train.seed);
}

// ResolveStart: chooses gamma where none was asked for, and how the start is made, and says so.
// What no profile evaluates is found out before the work.
absl::Status ResolveStart(const Dataset& dataset, const LearnOptions& options,
                          const Monitor& monitor, const std::string& name, TrainOptions& train,
                          Json& chosen) {
  const bool choose = train.gamma == 0;
  std::vector<int> gammas = {train.gamma};
  if (choose) gammas = GammaCandidates(dataset.TotalDimension());
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindModelProfile(options.profile));
  if (profile.flooded) {
    if (gammas.front() > kMostFlooded) {
      return absl::InvalidArgumentError(absl::StrCat(
          "profile ", options.profile, " floods what is opened with noise, and has room ",
          "for it with at most ", kMostFlooded, " dimensions: choose a smaller gamma"));
    }
    std::erase_if(gammas, [](int gamma) { return gamma > kMostFlooded; });
  }
  train.gamma = gammas[0];
  HEFT_RETURN_IF_ERROR(CheckEvaluable(dataset, train, options.profile));
  const Progress progress(monitor, name + "choosing " + (choose ? "gamma" : "the start"));
  HEFT_RETURN_IF_ERROR(progress.Step(0, 1));
  HEFT_ASSIGN_OR_RETURN(const GammaChoice choice, ChooseGamma(dataset, train, gammas));
  train.gamma = choice.gamma;
  train.blend = choice.blend;
  if (!choose) return progress.Step(1, 1);
  chosen = choice.ToJson();
  HEFT_RETURN_IF_ERROR(CheckEvaluable(dataset, train, options.profile));
  return progress.Step(1, 1, choice.Reason());
}

// Both trainings on the split of `dataset`, what is decided by them, and the model. `name` tells
// runs apart.
absl::StatusOr<Model> LearnOne(const Dataset& dataset, const LearnOptions& options,
                               const Monitor& monitor, const std::string& name,
                               const std::optional<FoldNumber>& fold = {}) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindModelProfile(options.profile));
  HEFT_ASSIGN_OR_RETURN(TrainOptions train, Resolve(options));
  Json chosen;
  HEFT_RETURN_IF_ERROR(ResolveStart(dataset, options, monitor, name, train, chosen));
  HEFT_ASSIGN_OR_RETURN(TrainResult aware,
                        TrainWithProgress(monitor, dataset, train, name + "FHE-aware",
                                          options.checkpoint, options.curve));
  if (!chosen.is_null()) aware.summary["gamma_choice"] = std::move(chosen);
  std::optional<TrainResult> exact;
  if (options.with_exact) {
    TrainOptions other = train;
    other.fhe_aware = false;
    const std::string checkpoint = options.checkpoint.empty() ? "" : options.checkpoint + ".exact";
    HEFT_ASSIGN_OR_RETURN(exact,
                          TrainWithProgress(monitor, dataset, other, name + "exact", checkpoint));
  }
  HEFT_ASSIGN_OR_RETURN(const Decisions decisions,
                        DecideAcross(monitor, dataset, train, aware, profile, name));
  return MakeModel(dataset, aware, {options.profile, exact ? &*exact : nullptr, &decisions, fold});
}

}  // namespace

absl::StatusOr<TrainResult> TrainWithProgress(const Monitor& monitor, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint,
                                              std::vector<LearnEpoch>* curve) {
  const Progress progress(monitor, "training " + name);
  TrainHooks hooks;
  HEFT_ASSIGN_OR_RETURN(const std::optional<TrainCheckpoint> resume, ReadCheckpoint(checkpoint));
  if (resume) hooks.resume = &*resume;
  hooks.measure_training = curve != nullptr;
  hooks.progress = [&](const TrainProgress& p) {
    if (curve != nullptr) curve->push_back({p.epoch, p.train_auroc, p.val_auroc});
    progress.Update(p.epoch, p.epochs,
                    absl::StrFormat("loss %.4f, validation AUROC %.4f, %.1f%% outside", p.loss,
                                    p.val_auroc, 100 * p.outside_share));
  };
  if (!train.grid_search || !checkpoint.empty()) {  // Train says that these two exclude each other
    hooks.save = [&](const TrainCheckpoint& state) -> absl::Status {
      if (!checkpoint.empty()) {
        HEFT_RETURN_IF_ERROR(WriteOutput(checkpoint, AsBytes(FormatCheckpoint(state))));
      }
      return CheckNotStopped(monitor);
    };
  }
  return Train(dataset, train, hooks);
}

absl::StatusOr<Model> Learn(const TrainingData& data, const LearnOptions& options,
                            const Monitor& monitor) {
  return LearnOne(Inside::Of(data).dataset, options, monitor, "");
}

absl::StatusOr<std::vector<Model>> LearnFolds(const TrainingData& data, const LearnOptions& options,
                                              int folds, uint64_t fold_seed,
                                              const Monitor& monitor) {
  if (!options.checkpoint.empty() || options.curve != nullptr) {
    return absl::InvalidArgumentError("folds are learned without checkpoint and curve");
  }
  const Dataset& dataset = Inside::Of(data).dataset;
  std::vector<Model> models;
  HEFT_RETURN_IF_ERROR(
      ForEachFold(dataset, folds, fold_seed, [&](int fold, const Dataset& part) -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(
            Model model,
            LearnOne(part, options, monitor, absl::StrFormat("fold %d of %d, ", fold + 1, folds),
                     FoldNumber{folds, fold_seed, fold, dataset.Rows()}));
        models.push_back(std::move(model));
        return absl::OkStatus();
      }));
  return models;
}

}  // namespace heft
