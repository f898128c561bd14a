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
#include "features/effective_dimension.h"
#include "fusion/plan.h"
#include "fusion/profile.h"
#include "learning/choose_system.h"
#include "learning/cross_fit.h"
#include "learning/decide.h"
#include "learning/isotropy.h"
#include "learning/recipe.h"
#include "learning/train_internal.h"
#include "learning/trained_model.h"

namespace heft {
namespace {

// The state to go on from; none where the file is not there.
absl::StatusOr<std::optional<TrainCheckpoint>> ReadCheckpoint(const std::string& path) {
  if (path.empty() || !FileExists(path)) return std::nullopt;
  if (std::filesystem::is_other(path)) {  // follows links
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": give a file for the checkpoint, because training reads it again"));
  }
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseCheckpoint(text);
}

// The options with the recipe's own form of normalisation where none was asked for.
absl::StatusOr<TrainOptions> Resolve(const LearnOptions& options) {
  TrainOptions train;
  HEFT_ASSIGN_OR_RETURN(train.recipe, ParseRecipe(options.recipe));
  if (!options.method.empty()) {
    HEFT_ASSIGN_OR_RETURN(train.method, ParseMethod(options.method));
  }
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

// What a model is made of.
struct Learned {
  TrainResult shipped;
  std::optional<TrainResult> exact;
  std::optional<Decisions> decisions;
};

absl::StatusOr<TrainResult> TrainExactly(const Monitor& monitor, const Dataset& dataset,
                                         TrainOptions train, const LearnOptions& options,
                                         const std::string& name) {
  train.fhe_aware = false;
  const std::string checkpoint = options.checkpoint.empty() ? "" : options.checkpoint + ".exact";
  return TrainWithProgress(monitor, dataset, train, name + "exact", checkpoint);
}

// How the model's profile brings probes to unit length.
ProbeLength LengthOf(const LearnOptions& options) {
  const auto profile = FindModelProfile(options.profile);
  return profile.ok() && profile->thin() ? ProbeLength::kExact : ProbeLength::kApproximate;
}

// The paper's recipe: training people train, validation people stop, in each part anew.
absl::StatusOr<Learned> LearnAsPaper(const Dataset& dataset, const TrainOptions& train,
                                     const LearnOptions& options, const Monitor& monitor,
                                     const std::string& name) {
  Learned out;
  HEFT_ASSIGN_OR_RETURN(out.shipped, TrainWithProgress(monitor, dataset, train, name + "FHE-aware",
                                                       options.checkpoint, options.curve));
  if (options.with_exact) {
    HEFT_ASSIGN_OR_RETURN(out.exact, TrainExactly(monitor, dataset, train, options, name));
  }
  TrainOptions across = train;
  across.grid_search = false;  // lambda and margin as chosen, like gamma
  across.lambda = out.shipped.summary["options"]["lambda"].get<double>();
  across.margin = out.shipped.summary["options"]["margin"].get<double>();
  const bool few = CrossFitParts(DevelopmentPeople(dataset)) < 2;
  CrossFit fit;
  if (few) {
    fit = OfValidationPeople(dataset, out.shipped);
  } else {
    HEFT_ASSIGN_OR_RETURN(fit, FitAcross(monitor, dataset, across, 0, name));
  }
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  HEFT_ASSIGN_OR_RETURN(out.decisions,
                        Decide(fit, LengthOf(options), train.seed, options.against_wolves));
  return out;
}

// Whether validation people can judge epochs.
bool CanJudge(const Dataset& dataset) {
  const auto pool = SamplePool::Make(dataset, Split::kValidation);
  return pool.ok() && HasGenuinePair(pool->Paired());
}

// Whether there is a genuine comparison, and an impostor one.
bool CanDecide(const Dataset& people) {
  const std::vector<int> identities = IdentityNumbers(people.labels);
  return people.labelled && HasGenuinePair({{}, identities}) &&
         *std::ranges::max_element(identities) > 0;
}

// The people of all parts, development people alone, as training people.
Dataset AllTraining(Dataset people) {
  std::ranges::fill(people.split, Split::kTrain);
  return people;
}

// Squared norms of rows that did not train the projection: all for the concatenation; else of each
// of recipe::kParts parts under a projection of the others.
absl::StatusOr<Eigen::VectorXd> NormsWithoutLabels(const Dataset& all, const TrainOptions& train,
                                                   const TrainResult& shipped) {
  std::vector<int> numbers = IdentityNumbers(all.labels);
  const int parts = std::min(recipe::kParts, *std::ranges::max_element(numbers) / 2);
  if (train.method == Method::kNone || parts < 2) {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                          Concatenate(all, RowsOf(all.split, Split::kTrain)));
    return SquaredNorms(shipped.projection, features);
  }
  std::vector<double> norms;
  for (int part = 0; part < parts; ++part) {
    Dataset others = all;
    for (size_t row = 0; row < numbers.size(); ++row) {
      if (numbers[row] % parts == part) others.split[row] = Split::kTest;
    }
    HEFT_ASSIGN_OR_RETURN(const TrainResult result, TrainFully(others, train, 0));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                          Concatenate(others, RowsOf(others.split, Split::kTest)));
    const Eigen::VectorXd own = SquaredNorms(result.projection, features);
    norms.insert(norms.end(), own.begin(), own.end());
  }
  return Eigen::Map<const Eigen::VectorXd>(norms.data(), static_cast<Eigen::Index>(norms.size()));
}

// Decisions and the interval of a model without parts: too few people, or no labels.
absl::Status FinishAlone(const Dataset& people, const TrainOptions& train,
                         const LearnOptions& options, Learned& out) {
  const Dataset all = AllTraining(people);
  HEFT_ASSIGN_OR_RETURN(const Eigen::VectorXd norms, NormsWithoutLabels(all, train, out.shipped));
  HEFT_ASSIGN_OR_RETURN(const Normaliser normaliser, FitInterval(norms, train));
  HEFT_RETURN_IF_ERROR(SetInterval(normaliser, all, out.shipped));
  out.shipped.summary["outside_share_val"] = internal::OutsideShare(
      norms * (normaliser.gain * normaliser.gain), out.shipped.approximation.interval);
  if (!CanDecide(people)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(out.decisions, Decide(OfAllPeople(people, out.shipped), LengthOf(options),
                                              train.seed, options.against_wolves));
  return absl::OkStatus();
}

// The generalising recipe. Where an epoch helps validation people, people of all parts choose the
// number of epochs. Then all people for training and validation train, and the interval and the
// decisions come from the parts.
absl::StatusOr<Learned> LearnGenerally(const Dataset& dataset, const TrainOptions& train,
                                       const LearnOptions& options, const Monitor& monitor,
                                       const std::string& name) {
  const Dataset people = DevelopmentPeople(dataset);
  const int parts = people.labelled ? CrossFitParts(people) : 0;
  Learned out;
  int epochs = 0;
  if (train.method == Method::kLearned && (parts < 2 || CanJudge(dataset))) {
    HEFT_ASSIGN_OR_RETURN(out.shipped,
                          TrainWithProgress(monitor, dataset, train, name + "FHE-aware",
                                            options.checkpoint, options.curve));
    epochs = out.shipped.best_epoch;
    if (parts < 2) {
      HEFT_ASSIGN_OR_RETURN(out.decisions,
                            Decide(OfValidationPeople(dataset, out.shipped), LengthOf(options),
                                   train.seed, options.against_wolves));
      if (!options.with_exact) return out;
      HEFT_ASSIGN_OR_RETURN(out.exact, TrainExactly(monitor, dataset, train, options, name));
      return out;
    }
  }
  const Json judged = std::move(out.shipped.summary);
  TrainOptions same = train;  // lambda and margin as chosen
  if (judged.contains("options")) {
    same.grid_search = false;
    same.lambda = judged["options"]["lambda"].get<double>();
    same.margin = judged["options"]["margin"].get<double>();
  }
  // A few people tell whether epochs help, more of them how many do.
  if (epochs > 0) {
    HEFT_ASSIGN_OR_RETURN(epochs, EpochsAcross(monitor, dataset, same, name));
  }
  const Dataset all = AllTraining(people);
  HEFT_ASSIGN_OR_RETURN(out.shipped, TrainFully(all, same, epochs, StoppedBy(monitor)));
  for (const char* key : {"val_auroc", "val_fnmr", "val_identities", "epochs_run"}) {
    if (const Json* value = judged.find(key)) out.shipped.summary[key] = *value;
  }
  if (parts < 2) {
    HEFT_RETURN_IF_ERROR(FinishAlone(people, train, options, out));
    return out;
  }
  HEFT_ASSIGN_OR_RETURN(CrossFit fit, FitAcross(monitor, dataset, same, epochs, name));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix trained,
                        Concatenate(all, RowsOf(all.split, Split::kTrain)));
  Isotropy isotropy;  // The concatenation stays what it is.
  const bool enough = PeopleWithTwo(IdentityNumbers(people.labels)) >= recipe::kFewestLimited;
  if (same.method != Method::kNone && enough) {
    HEFT_ASSIGN_OR_RETURN(isotropy, LimitFolds(fit));
    out.shipped.summary["isotropy"] = isotropy.ToJson();
  }
  const auto limit = [&](TrainResult& result) {
    if (isotropy.limit == 0) return;
    result.projection = Limiter(result.projection, trained).Projection(isotropy.limit);
  };
  limit(out.shipped);
  HEFT_ASSIGN_OR_RETURN(const Eigen::VectorXd norms, HeldOutNorms(fit, train));
  Eigen::VectorXd both(norms.size() + trained.rows());  // people who trained may be enrolled too
  both << norms, SquaredNorms(out.shipped.projection, trained);
  HEFT_ASSIGN_OR_RETURN(const Normaliser normaliser, FitInterval(both, train));
  HEFT_RETURN_IF_ERROR(SetInterval(normaliser, all, out.shipped));
  HEFT_RETURN_IF_ERROR(SetIntervals(normaliser, fit));
  out.shipped.summary["outside_share_val"] = internal::OutsideShare(
      norms * (normaliser.gain * normaliser.gain), out.shipped.approximation.interval);
  if (options.with_exact && epochs > 0) {
    TrainOptions exactly = same;
    exactly.fhe_aware = false;
    HEFT_ASSIGN_OR_RETURN(out.exact, TrainFully(all, exactly, epochs, StoppedBy(monitor)));
    limit(*out.exact);
    HEFT_RETURN_IF_ERROR(SetInterval(normaliser, all, *out.exact));
  }
  HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
  HEFT_ASSIGN_OR_RETURN(out.decisions,
                        Decide(fit, LengthOf(options), train.seed, options.against_wolves));
  return out;
}

// The dimensions that may be chosen; one where it was given.
absl::StatusOr<std::vector<int>> OpenGammas(const Dataset& dataset, const LearnOptions& options,
                                            const TrainOptions& train, const Profile& profile) {
  const int total = dataset.TotalDimension();
  std::vector<int> gammas = {train.gamma};
  if (train.gamma == 0 && options.method == "none") {
    gammas = {PaddedDimension(total)};
  } else if (train.gamma == 0) {
    gammas = GammaCandidates(total);
  }
  const int most = static_cast<int>(profile.max_gamma);
  if (gammas.front() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile ", options.profile, " takes models of at most ", most,
                     " dimensions, ", gammas.front(), " are requested: choose a smaller gamma",
                     options.method == "none" ? ", or method pca" : ""));
  }
  std::erase_if(gammas, [most](int gamma) { return gamma > most; });
  return gammas;
}

// ResolveChoice: makes the choices that the caller left open, and says so. It refuses a system that
// no profile can evaluate before the work begins.
absl::Status ResolveChoice(const Dataset& dataset, const LearnOptions& options,
                           const Monitor& monitor, const std::string& name, TrainOptions& train,
                           Json& chosen) {
  if (!dataset.labelled && (options.method.empty() || train.method == Method::kLearned)) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset.folder, " has no labels.txt, and learning needs the identity of each row: write ",
        "it, or choose method pca or none"));
  }
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindModelProfile(options.profile));
  const bool open_gamma = train.gamma == 0;
  HEFT_ASSIGN_OR_RETURN(const std::vector<int> gammas,
                        OpenGammas(dataset, options, train, profile));
  train.gamma = gammas[0];
  HEFT_RETURN_IF_ERROR(CheckEvaluable(dataset, train, options.profile));
  const Progress progress(monitor, name + "choosing " + (open_gamma ? "gamma" : "the start"));
  HEFT_RETURN_IF_ERROR(progress.Step(0, 1));
  const WhatIsOpen open = {
      .gammas = gammas,
      .method = options.method.empty() && train.recipe == Recipe::kGeneralising,
      .largest_gamma = static_cast<int>(profile.max_gamma),
      .stopped = [&monitor] { return Stopped(monitor); }};
  HEFT_ASSIGN_OR_RETURN(
      const SystemChoice choice,
      ChooseSystem(
          train.recipe == Recipe::kPaper ? dataset : AllTraining(DevelopmentPeople(dataset)), train,
          open));
  train.gamma = choice.gamma;
  if (train.recipe == Recipe::kPaper) return progress.Step(1, 1);
  train.method = choice.start.method;
  train.shrinkages = choice.start.shrinkages;
  train.blend = choice.start.blend;
  train.whitening = choice.start.whitening;
  train.modality_weights = choice.start.weights;
  if ((open_gamma && !choice.trials.empty()) || !choice.fallback.empty()) chosen = choice.ToJson();
  HEFT_RETURN_IF_ERROR(CheckEvaluable(dataset, train, options.profile));
  return progress.Step(1, 1, choice.Reason());
}

// Adds the effective dimension of the templates of the people who trained, or stopped the training.
// A data set whose templates are all equal has none.
absl::Status AddEffectiveDimension(const Dataset& dataset, TrainResult& result) {
  const Dataset people = AllTraining(DevelopmentPeople(dataset));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(people, RowsOf(people.split, Split::kTrain)));
  const auto dimension = EffectiveDimension(ProjectAndNormalise(result.projection, features));
  if (dimension.ok()) result.summary["effective_dimension"] = *dimension;
  return absl::OkStatus();
}

// Both trainings on the split of `dataset`, the decisions from them, and the model. `name` tells
// runs apart.
absl::StatusOr<Model> LearnOne(const Dataset& dataset, const LearnOptions& options,
                               const Monitor& monitor, const std::string& name,
                               const std::optional<FoldNumber>& fold = {}) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindModelProfile(options.profile));
  HEFT_ASSIGN_OR_RETURN(TrainOptions train, Resolve(options));
  HEFT_ASSIGN_OR_RETURN(train.largest_norm, LargestNorm(profile));
  Json chosen;
  HEFT_RETURN_IF_ERROR(ResolveChoice(dataset, options, monitor, name, train, chosen));
  const auto learn = train.recipe == Recipe::kPaper ? LearnAsPaper : LearnGenerally;
  HEFT_ASSIGN_OR_RETURN(Learned learned, learn(dataset, train, options, monitor, name));
  HEFT_RETURN_IF_ERROR(AddEffectiveDimension(dataset, learned.shipped));
  if (!chosen.is_null()) learned.shipped.summary["gamma_choice"] = std::move(chosen);
  return MakeModel(dataset, learned.shipped,
                   {options.profile, learned.exact ? &*learned.exact : nullptr,
                    learned.decisions ? &*learned.decisions : nullptr, fold});
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
    progress.Update(
        p.epoch, p.epochs,
        absl::StrFormat("loss %.4f, validation FNMR %.2g at FMR %g, AUROC %.4f, "
                        "%.1f%% outside",
                        p.loss, p.val_fnmr, recipe::kFmr, p.val_auroc, 100 * p.outside_share));
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

TrainHooks StoppedBy(const Monitor& monitor) {
  TrainHooks hooks;
  hooks.save = [&monitor](const TrainCheckpoint&) { return CheckNotStopped(monitor); };
  return hooks;
}

absl::StatusOr<Model> Learn(const TrainingData& data, const LearnOptions& options,
                            const Monitor& monitor) {
  return LearnOne(Inside::Of(data).dataset, options, monitor, "");
}

absl::StatusOr<std::vector<Model>> LearnFolds(const TrainingData& data, const LearnOptions& options,
                                              int folds, uint64_t fold_seed,
                                              const Monitor& monitor) {
  if (!options.checkpoint.empty() || options.curve != nullptr) {
    return absl::InvalidArgumentError("folds are trained without checkpoint and curve");
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
