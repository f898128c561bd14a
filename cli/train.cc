// SPDX-License-Identifier: Apache-2.0
#include "learning/train.h"

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "experiment/cross_validation.h"
#include "experiment/figure.h"
#include "experiment/reports.h"
#include "experiment/training.h"
#include "features/dataset.h"
#include "fusion/profile.h"

namespace heft::cli {
namespace {

struct Options {
  std::string data, out, recipe = "generalising", fit, profile = "thin", checkpoint, curve;
  int degree = 0, folds = 0;
  uint64_t fold_seed = 1;
  bool no_exact = false;
  TrainOptions train;
};

// The options with the recipe's own form of normalisation where none was asked for.
absl::StatusOr<TrainOptions> Resolve(const Options& options) {
  HEFT_RETURN_IF_ERROR(FindModelProfile(options.profile).status());
  TrainOptions train = options.train;
  HEFT_ASSIGN_OR_RETURN(train.recipe, ParseRecipe(options.recipe));
  const bool paper = train.recipe == Recipe::kPaper;
  train.degree = options.degree != 0 ? options.degree : paper ? 2 : 3;
  HEFT_ASSIGN_OR_RETURN(train.fit, ParseFitKind(!options.fit.empty() ? options.fit
                                                : paper              ? "least_squares"
                                                                     : "minimax"));
  return train;
}

absl::Status RunOnce(const Common& common, const Options& options, const TrainOptions& train,
                     const Dataset& dataset) {
  experiment::TrainingCurve curve;
  HEFT_ASSIGN_OR_RETURN(
      const TrainResult aware,
      experiment::TrainWithProgress(common.monitor, dataset, train, "FHE-aware", options.checkpoint,
                                    options.curve.empty() ? nullptr : &curve));
  std::optional<TrainResult> exact;
  if (!options.no_exact) {
    TrainOptions exact_options = train;
    exact_options.fhe_aware = false;
    const std::string checkpoint = options.checkpoint.empty() ? "" : options.checkpoint + ".exact";
    HEFT_ASSIGN_OR_RETURN(exact, experiment::TrainWithProgress(common.monitor, dataset,
                                                               exact_options, "exact", checkpoint));
  }
  HEFT_ASSIGN_OR_RETURN(const Model model,
                        MakeModel(dataset, aware, {options.profile, exact ? &*exact : nullptr}));
  const std::vector<uint8_t> bytes = model.Serialize();
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  if (!options.curve.empty()) {
    HEFT_ASSIGN_OR_RETURN(const std::string picture, experiment::DrawTrainingCurve(curve));
    HEFT_RETURN_IF_ERROR(WriteResult(options.curve, experiment::SvgFile(picture)));
  }
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
  const std::string best = aware.best_epoch == 0 ? "of the start, which no epoch improved"
                                                 : absl::StrCat("of epoch ", aware.best_epoch);
  std::string text = absl::StrFormat(
      "model %s: %s\n  validation AUROC %.4f, %s%s\n"
      "  normalisation of degree %d on [%.3f, %.3f], worst error %.2f%%, %.2f%% of training "
      "samples outside\n",
      HexString(model.Id()), options.out, aware.val_auroc, best,
      exact ? absl::StrFormat("; trained with exact normalisation %.4f", exact->val_auroc) : "",
      model.approximation.Degree(), interval.lo, interval.hi,
      100 * model.approximation.MaxRelativeError(), 100 * aware.outside_share);
  Print(common, json, text);
  return absl::OkStatus();
}

absl::Status RunFolds(const Common& common, const Options& options, const TrainOptions& train,
                      const Dataset& dataset) {
  if (!options.checkpoint.empty() || !options.curve.empty()) {
    return absl::InvalidArgumentError("--checkpoint and --curve cannot be used with --folds");
  }
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<Model> models,
      experiment::TrainFolds(common.monitor, dataset, train, options.profile, !options.no_exact,
                             options.folds, options.fold_seed));
  experiment::CrossValidationOptions validation;
  validation.folds = options.folds;
  validation.fold_seed = options.fold_seed;
  validation.encrypted = false;
  HEFT_ASSIGN_OR_RETURN(const experiment::CrossValidation result,
                        experiment::CrossValidate(
                            common.monitor, dataset,
                            {{"", "", experiment::FoldModels::Rows::kAll, models}}, validation));
  // All or nothing, as far as the disk allows.
  if (Interrupted()) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(MakeDirectories(options.out));
  for (int fold = 0; fold < options.folds; ++fold) {
    HEFT_RETURN_IF_ERROR(
        WriteResult(experiment::FoldFile(options.out, fold), models[fold].Serialize()));
  }
  Json json = {{"out", options.out}};
  json.update(experiment::ToJson(result));
  Print(common, json,
        absl::StrCat(experiment::ToText(result), "models: ", experiment::FoldFile(options.out, 0),
                     " to ", experiment::FoldFile(options.out, options.folds - 1),
                     "; heft evaluate --folds ", options.folds, " --model ", options.out,
                     " computes the encrypted rows too\n"));
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const TrainOptions train, Resolve(options));
  // Found out now, not after the training.
  const std::filesystem::path folder = std::filesystem::path(options.out).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
    return absl::NotFoundError(
        absl::StrCat("cannot write ", options.out, ": there is no folder ", folder.string()));
  }
  HEFT_ASSIGN_OR_RETURN(const Dataset dataset, LoadDataset(options.data, train.seed));
  SayLeftOut(common, dataset.left_out);
  for (const std::string& output : {options.out, options.curve, options.checkpoint}) {
    HEFT_RETURN_IF_ERROR(CheckOutput(output));
  }
  if (!options.curve.empty()) HEFT_RETURN_IF_ERROR(experiment::CheckGnuplot());
  HEFT_RETURN_IF_ERROR(CheckEvaluable(dataset, train, options.profile));
  return options.folds > 0 ? RunFolds(common, options, train, dataset)
                           : RunOnce(common, options, train, dataset);
}

}  // namespace

void AddTrain(Command app) {
  auto options = std::make_shared<Options>();
  TrainOptions& t = options->train;
  const Command command =
      AddCommand(app, "train", "learn the fusion of a data set's modalities",
                 "heft train --data lfw-speech --out m.heft --gamma 32 --degree 3",
                 [options](const Common& common) { return Run(common, *options); });
  command.Add("-d,--data", &options->data, "data folder").Required();
  command.Add("-o,--out", &options->out, "model file to write; with --folds a folder").Required();
  command
      .Add("--folds", &options->folds,
           "train a model for each of so many identity folds, and compare on them")
      .Range(3, 1000);
  command.Add("--fold-seed", &options->fold_seed, "deals identities into folds").ShowDefault();
  command.Add("--gamma", &t.gamma, "fused dimension: 16, 32, 64, ...").Range(2, 256).ShowDefault();
  command.Add("--recipe", &options->recipe, "generalising, or paper").ShowDefault();
  command
      .Add("--degree", &options->degree, "of the normalisation's polynomial (default 3; paper 2)")
      .Range(2, 3);
  command.Add("--fit", &options->fit,
              "minimax or least_squares (default minimax; paper least_squares)");
  command.Add("--profile", &options->profile, "parameters: thin, compact or compact-pq")
      .ShowDefault();
  command.Add("--lambda", &t.lambda, "weight of the pairs' term").Range(0, 1).ShowDefault();
  command.Add("--margin", &t.margin, "margin of the triplets' hinge").Range(0, 2).ShowDefault();
  command.Add("--grid", &t.grid_search, "try the published grid of lambda and margin");
  command.Add("--epochs", &t.epochs, "0: the recipe's own").Range(0, 1e6).ShowDefault();
  command.Add("--learning-rate", &t.learning_rate, "0: the recipe's own")
      .Range(0, 10)
      .ShowDefault();
  command.Add("--weight-decay", &t.weight_decay, "of the optimiser").Range(0, 1).ShowDefault();
  command.Add("--shrinkage", &t.shrinkage, "of the within-class covariance")
      .Range(0, 1)
      .ShowDefault();
  command
      .Add("--drop-modality", &t.drop_modality,
           "probability of training without a modality, for probes that lack one")
      .Range(0, 0.9)
      .ShowDefault();
  command
      .Add("--modality-weights", &t.modality_weights,
           "of the start, one a modality; default: chosen on validation people")
      .Range(1e-3, 1e3);
  command.Add("--seed", &t.seed, "random seed").ShowDefault();
  command.Add("--checkpoint", &options->checkpoint,
              "file to save the state to after every epoch and to resume from");
  command.Add("--curve", &options->curve,
              "write a picture (SVG) of training and validation AUROC by epoch here");
  command
      .Add("--patience", &t.patience,
           "epochs without a better validation AUROC; 0: the recipe's own")
      .Range(0, 1e6)
      .ShowDefault();
  command.Add("--no-exact", &options->no_exact,
              "do not also train with exact normalisation, for comparison in reports");
}

}  // namespace heft::cli
