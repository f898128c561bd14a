// SPDX-License-Identifier: Apache-2.0
#include "learning/train.h"

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "features/dataset.h"
#include "fusion/plan.h"

namespace heft::cli {
namespace {

struct Options {
  std::string data, out, recipe = "generalising", fit, profile = "compact", checkpoint;
  int degree = 0;
  bool no_exact = false;
  TrainOptions train;
};

std::vector<double> RowMajor(const FeatureMatrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

// One training run with progress; --checkpoint makes it resumable.
absl::StatusOr<TrainResult> TrainOnce(const Common& common, const Options& options,
                                      const Dataset& dataset, const TrainOptions& train,
                                      const std::string& name, const std::string& checkpoint) {
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
  if (!options.train.grid_search) {
    hooks.save = [&](const TrainCheckpoint& state) -> absl::Status {
      if (!checkpoint.empty()) {
        HEFT_RETURN_IF_ERROR(WriteFileAtomic(checkpoint, FormatCheckpoint(state)));
      }
      return Interrupted() ? absl::CancelledError("interrupted") : absl::OkStatus();
    };
  }
  return Train(dataset, train, hooks);
}

// A result of this form before any training: some projection, an approximation of the degree.
absl::StatusOr<TrainResult> FormOf(const TrainOptions& train, const Dataset& dataset) {
  TrainResult form;
  form.projection = FeatureMatrix::Identity(train.gamma, dataset.TotalDimension());
  HEFT_ASSIGN_OR_RETURN(form.approximation, FitMinimax(train.degree, Interval{0.2, 2.2}));
  return form;
}

absl::StatusOr<Model> BuildModel(const Options& options, const Dataset& dataset,
                                 const TrainResult& aware, const TrainResult* exact) {
  Model model;
  for (const Modality& m : dataset.modalities) {
    model.modalities.push_back({m.name, static_cast<uint32_t>(m.features.cols())});
  }
  model.gamma = static_cast<uint32_t>(options.train.gamma);
  model.projection = RowMajor(aware.projection);
  model.approximation = aware.approximation;
  model.profile = options.profile;
  if (exact != nullptr) model.exact_projection = RowMajor(exact->projection);
  const uint64_t impostors = aware.thresholds.impostor_pairs;
  for (const auto& t : aware.thresholds.thresholds) {
    model.thresholds.push_back({t.fmr, t.threshold, 1 - t.measured_tmr, impostors});
  }
  nlohmann::json summary = aware.summary;
  if (exact != nullptr) summary["exact"] = exact->summary;
  if (!aware.thresholds.warning.empty()) summary["threshold_warning"] = aware.thresholds.warning;
  model.training_summary = summary.dump();
  HEFT_RETURN_IF_ERROR(model.Check());
  // Fails here, not at keygen, where the profile cannot evaluate this model.
  HEFT_RETURN_IF_ERROR(MakeInstance(model).status());
  return model;
}

// Whether the profile can evaluate a model of this form, found out before the training.
absl::Status CheckEvaluable(const Options& options, const TrainOptions& train,
                            const Dataset& dataset) {
  HEFT_RETURN_IF_ERROR(CheckTrainOptions(train, dataset));
  HEFT_ASSIGN_OR_RETURN(TrainResult form, FormOf(train, dataset));
  return BuildModel(options, dataset, form, nullptr).status();
}

absl::Status Run(const Common& common, const Options& options) {
  TrainOptions train = options.train;
  HEFT_ASSIGN_OR_RETURN(train.recipe, ParseRecipe(options.recipe));
  const bool paper = train.recipe == Recipe::kPaper;
  train.degree = options.degree != 0 ? options.degree : paper ? 2 : 3;
  HEFT_ASSIGN_OR_RETURN(train.fit, ParseFitKind(!options.fit.empty() ? options.fit
                                                : paper              ? "least_squares"
                                                                     : "minimax"));
  // Found out now, not after the training.
  const std::filesystem::path folder = std::filesystem::path(options.out).parent_path();
  if (!folder.empty() && !FileExists(folder.string())) {
    return absl::NotFoundError(
        absl::StrCat("cannot write ", options.out, ": there is no folder ", folder.string()));
  }
  HEFT_ASSIGN_OR_RETURN(const Dataset dataset, LoadDataset(options.data, train.seed));
  HEFT_RETURN_IF_ERROR(CheckEvaluable(options, train, dataset));
  HEFT_ASSIGN_OR_RETURN(const TrainResult aware, TrainOnce(common, options, dataset, train,
                                                           "FHE-aware", options.checkpoint));
  std::optional<TrainResult> exact;
  if (!options.no_exact) {
    TrainOptions exact_options = train;
    exact_options.fhe_aware = false;
    const std::string checkpoint = options.checkpoint.empty() ? "" : options.checkpoint + ".exact";
    HEFT_ASSIGN_OR_RETURN(exact,
                          TrainOnce(common, options, dataset, exact_options, "exact", checkpoint));
  }
  HEFT_ASSIGN_OR_RETURN(const Model model,
                        BuildModel(options, dataset, aware, exact ? &*exact : nullptr));
  const std::vector<uint8_t> bytes = model.Serialize();
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  if (!aware.thresholds.warning.empty() && !common.quiet) {
    std::cerr << "heft: " << aware.thresholds.warning << "\n";
  }
  const Interval& interval = model.approximation.interval;
  Json json = {{"out", options.out},
               {"bytes", bytes.size()},
               {"model_id", HexString(model.Id())},
               {"val_auroc", aware.val_auroc},
               {"best_epoch", aware.best_epoch},
               {"outside_share", aware.outside_share},
               {"interval", {interval.lo, interval.hi}},
               {"max_relative_error", model.approximation.MaxRelativeError()}};
  if (exact) json["exact_val_auroc"] = exact->val_auroc;
  std::string text = absl::StrFormat(
      "model %s: %s\n  validation AUROC %.4f (epoch %d)%s\n"
      "  normalisation of degree %d on [%.3f, %.3f], worst error %.2f%%, %.2f%% of training "
      "samples outside\n",
      HexString(model.Id()), options.out, aware.val_auroc, aware.best_epoch,
      exact ? absl::StrFormat("; trained with exact normalisation %.4f", exact->val_auroc) : "",
      model.approximation.Degree(), interval.lo, interval.hi,
      100 * model.approximation.MaxRelativeError(), 100 * aware.outside_share);
  Print(common, json, text);
  return absl::OkStatus();
}

}  // namespace

void AddTrain(CLI::App& app) {
  auto options = std::make_shared<Options>();
  TrainOptions& t = options->train;
  CLI::App* command = AddCommand(app, "train", "learn the fusion of a data set's modalities",
                                 "heft train --data lfw-speech --out m.heft --gamma 32 --degree 3",
                                 [options](const Common& common) { return Run(common, *options); });
  command->add_option("-d,--data", options->data, "data folder")->required();
  command->add_option("-o,--out", options->out, "model file to write")->required();
  command->add_option("--gamma", t.gamma, "fused dimension: 16, 32, 64, ...")
      ->capture_default_str();
  command->add_option("--recipe", options->recipe, "generalising, or paper")->capture_default_str();
  command->add_option("--degree", options->degree,
                      "of the normalisation's polynomial: 2 or 3 (default 3; paper 2)");
  command->add_option("--fit", options->fit,
                      "minimax or least_squares (default minimax; paper least_squares)");
  command->add_option("--profile", options->profile, "parameters: compact or compact-pq")
      ->capture_default_str();
  command->add_option("--lambda", t.lambda, "weight of the pairs' term")->capture_default_str();
  command->add_option("--margin", t.margin, "margin of the triplets' hinge")->capture_default_str();
  command->add_flag("--grid", t.grid_search, "try the published grid of lambda and margin");
  command->add_option("--epochs", t.epochs, "0: the recipe's own")->capture_default_str();
  command->add_option("--learning-rate", t.learning_rate, "0: the recipe's own")
      ->capture_default_str();
  command->add_option("--weight-decay", t.weight_decay)->capture_default_str();
  command->add_option("--shrinkage", t.shrinkage, "of the within-class covariance")
      ->capture_default_str();
  command
      ->add_option("--drop-modality", t.drop_modality,
                   "probability of training without a modality, for probes that lack one")
      ->capture_default_str();
  command->add_option("--seed", t.seed, "random seed")->capture_default_str();
  command->add_option("--checkpoint", options->checkpoint,
                      "file to save the state to after every epoch and to resume from");
  command->add_flag("--no-exact", options->no_exact,
                    "do not also train with exact normalisation, for comparison in reports");
}

}  // namespace heft::cli
