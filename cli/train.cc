// SPDX-License-Identifier: Apache-2.0
#include "heft/train.h"

#include <filesystem>
#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "heft/evaluate.h"
#include "program/common.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct Options {
  std::string data, out, curve, sign;
  int folds = 0;
  uint64_t fold_seed = 1;
  bool no_exact = false;
  LearnOptions learn;
};

LearnOptions LearnOf(const Options& options) {
  LearnOptions learn = options.learn;
  learn.with_exact = !options.no_exact;
  return learn;
}

// WarnOfFusion: loudly, where it loses; `where` tells folds apart.
void WarnOfFusion(const Common& common, const Json& training, const std::string& where = "") {
  const Json* fusion = training.find("fusion");
  if (fusion != nullptr && fusion->contains("warning")) {
    Warn(common, absl::StrCat(where, (*fusion)["warning"].get<std::string>()));
  }
}

// FusionText: fused against its best modality and the sum of scores, for people.
std::string FusionText(const Json& fusion) {
  std::string text;
  const auto compare = [&](const std::string& name, const Json& minus) {
    absl::StrAppendFormat(&text, "%s %s %+.4f [%+.4f, %+.4f]", text.empty() ? "" : ",", name,
                          minus["value"].get<double>(), minus["lo"].get<double>(),
                          minus["hi"].get<double>());
  };
  compare(absl::StrCat(fusion["best_modality"].get<std::string>(), " alone"), fusion["minus_best"]);
  if (fusion.contains("minus_score_sum")) compare("sum of scores", fusion["minus_score_sum"]);
  const Json& fused = fusion["systems"][0];
  return absl::StrFormat(
      "  on people kept out: AUROC %.4f, EER %.4f, FNMR %.4f at FMR 1e-2; AUROC minus%s\n",
      fused["auroc"]["value"].get<double>(), fused["eer"]["value"].get<double>(),
      fused["fnmr_1e2"]["value"].get<double>(), text);
}

// Why this dimension, and what smaller ones, which cost less, would lose; empty where it was given.
std::string GammaText(const Json& training) {
  if (!training.contains("gamma_choice")) return "";
  std::string text = "; chosen on training people";
  for (const Json& trial : training["gamma_choice"]["trials"]) {
    absl::StrAppendFormat(&text, ", %d: AUROC %.4f", trial["gamma"].get<int>(),
                          trial["auroc"]["value"].get<double>());
  }
  return text + "; gallery, keys and matches grow with it (--gamma)";
}

// What was learned, in words and as JSON.
void Tell(const Common& common, const std::string& out, size_t bytes, const Model& model,
          const Json& training) {
  const int best_epoch = training["best_epoch"].get<int>();
  const double val_auroc = training["val_auroc"].get<double>(),
               outside_share = training["outside_share_train"].get<double>(),
               worst = model.approximation.MaxRelativeError();
  const Interval& interval = model.approximation.interval;
  Json json = {{"out", out},
               {"bytes", bytes},
               {"model_id", HexString(model.Id())},
               {"gamma", model.gamma},
               {"modality_weights", training["modality_weights"]},
               {"val_auroc", val_auroc},
               {"best_epoch", best_epoch},
               {"outside_share", outside_share},
               {"interval", {interval.lo, interval.hi}},
               {"max_relative_error", worst},
               {"fusion", training["fusion"]},
               {"recipe", training["recipe"]}};
  for (const char* key : {"gamma_choice", "threshold_warning"}) {
    if (training.contains(key)) json[key] = training[key];
  }
  std::string exact;
  if (training.contains("exact")) {
    json["exact_val_auroc"] = training["exact"]["val_auroc"];
    exact = absl::StrFormat("; trained with exact normalisation %.4f",
                            training["exact"]["val_auroc"].get<double>());
  }
  const std::string best = best_epoch == 0 ? "of the start, which no epoch improved"
                                           : absl::StrCat("of epoch ", best_epoch);
  Print(common, json,
        absl::StrFormat(
            "model %s: %s\n  gamma %d, %d bytes a template%s\n  validation AUROC %.4f, %s%s\n"
            "  normalisation of degree %d on [%.3f, %.3f], worst error %.2f%%, %.2f%% "
            "of training samples outside\n%s",
            HexString(model.Id()), out, model.gamma, 16 * model.gamma, GammaText(training),
            val_auroc, best, exact, model.approximation.Degree(), interval.lo, interval.hi,
            100 * worst, 100 * outside_share, FusionText(training["fusion"])));
}

absl::Status RunOnce(const Common& common, const Options& options, const TrainingData& data) {
  // Before the training, in case the key is not there.
  std::optional<SigningKey> signer;
  if (!options.sign.empty()) {
    HEFT_ASSIGN_OR_RETURN(signer, LoadSigner(options.sign));
  }
  LearnOptions learn = LearnOf(options);
  std::vector<LearnEpoch> curve;
  if (!options.curve.empty()) learn.curve = &curve;
  HEFT_ASSIGN_OR_RETURN(const Model model, Learn(data, learn, common.monitor));
  HEFT_ASSIGN_OR_RETURN(const Json training, Json::Parse(model.training_summary));
  const int best_epoch = training["best_epoch"].get<int>();
  std::vector<uint8_t> bytes = model.Serialize();
  if (signer) {
    HEFT_ASSIGN_OR_RETURN(bytes, signer->Sign({.role = Role::kTrainer}, bytes));
  }
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  if (!options.curve.empty()) {
    HEFT_ASSIGN_OR_RETURN(const std::string picture, DrawLearningCurve(curve, best_epoch));
    HEFT_RETURN_IF_ERROR(WriteResult(options.curve, picture));
  }
  if (training.contains("threshold_warning") && !common.quiet) {
    std::cerr << "heft: " << training["threshold_warning"].get<std::string>() << "\n";
  }
  WarnOfFusion(common, training);
  Tell(common, options.out, bytes.size(), model, training);
  return absl::OkStatus();
}

absl::Status RunFolds(const Common& common, const Options& options, const TrainingData& data) {
  HEFT_ASSIGN_OR_RETURN(std::vector<Model> models, LearnFolds(data, LearnOf(options), options.folds,
                                                              options.fold_seed, common.monitor));
  const FoldModels set{"", std::move(models)};
  HEFT_ASSIGN_OR_RETURN(
      const Report report,
      EvaluateFolds(data, std::span(&set, 1),
                    {.folds = options.folds, .fold_seed = options.fold_seed, .encrypted = false},
                    common.monitor));
  for (int fold = 0; fold < options.folds; ++fold) {
    HEFT_ASSIGN_OR_RETURN(const Json training, Json::Parse(set.models[fold].training_summary));
    WarnOfFusion(common, training, absl::StrFormat("fold %d of %d: ", fold + 1, options.folds));
  }
  // All or nothing, as far as the disk allows.
  if (Interrupted()) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(MakeDirectories(options.out));
  for (int fold = 0; fold < options.folds; ++fold) {
    HEFT_RETURN_IF_ERROR(WriteResult(FoldFile(options.out, fold), set.models[fold].Serialize()));
  }
  Json json = {{"out", options.out}};
  json.update(report.json);
  Print(
      common, json,
      absl::StrCat(report.text, "models: ", FoldFile(options.out, 0), " to ",
                   FoldFile(options.out, options.folds - 1), "; heft evaluate --folds ",
                   options.folds, " --model ", options.out, " computes the encrypted rows too\n"));
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  // Found out now, not after the training.
  std::filesystem::path out = options.out;
  if (options.folds > 0 && !out.has_filename()) out = out.parent_path();  // "folds/" is "folds"
  const std::filesystem::path folder = out.parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
    return absl::NotFoundError(
        absl::StrCat("cannot write ", options.out, ": there is no folder ", folder.string()));
  }
  const bool is_folder = std::filesystem::is_directory(options.out, ignored);
  if (options.folds > 0 && !is_folder && std::filesystem::exists(options.out, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.out, ": is a file; give a folder for the models of folds"));
  }
  if (options.folds == 0 && is_folder) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.out, ": is a folder; give a file for the model"));
  }
  if (!options.curve.empty()) HEFT_RETURN_IF_ERROR(CheckDrawing());
  HEFT_ASSIGN_OR_RETURN(const TrainingData data,
                        TrainingData::Load(options.data, options.learn.seed));
  SayLeftOut(common, data.left_out());
  for (const std::string& output : {options.out, options.curve, options.learn.checkpoint}) {
    HEFT_RETURN_IF_ERROR(CheckOutput(output));
  }
  return options.folds > 0 ? RunFolds(common, options, data) : RunOnce(common, options, data);
}

// What a model is, and how it is learned.
void AddLearning(Command command, LearnOptions* learn) {
  LearnOptions& t = *learn;
  command
      .Add("--gamma", &t.gamma,
           "fused dimension: 16, 32, 64, ... (default: chosen on training people, 16 to 256). A "
           "template takes 16 bytes each in a gallery, and keys and matches grow with it")
      .Range(2, 256);
  command.Add("--recipe", &t.recipe, "generalising, or paper").ShowDefault();
  command.Add("--degree", &t.degree, "of the normalisation's polynomial (default 3; paper 2)")
      .Range(2, 3);
  command.Add("--fit", &t.fit, "minimax or least_squares (default minimax; paper least_squares)");
  command.Add("--profile", &t.profile, "parameters: thin, flooded, compact or compact-pq")
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
           "of the start, one a modality; default: chosen on training people")
      .Range(1e-3, 1e3);
  command.Add("--seed", &t.seed, "random seed").ShowDefault();
}

}  // namespace

void AddTrain(Command app) {
  const auto [command, options] =
      AddCommand(app, "train", "learn the fusion of a data set's modalities",
                 "heft train --data lfw-speech --out m.heft --gamma 32 --degree 3", Run);
  LearnOptions& t = options->learn;
  command.Add("-d,--data", &options->data, "data folder").Required();
  command.Add("-o,--out", &options->out, "model file to write; with --folds a folder").Required();
  const Option folds =
      command
          .Add("--folds", &options->folds,
               "train a model for each of so many identity folds, and compare on them")
          .Range(3, 1000);
  command.Add("--fold-seed", &options->fold_seed, "deals identities into folds").ShowDefault();
  AddLearning(command, &t);
  command.Add("--sign", &options->sign, "sign the model as its trainer, with this key (heft trust)")
      .Excludes(folds);
  command
      .Add("--checkpoint", &t.checkpoint,
           "file to save the state to after every epoch and to resume from")
      .Excludes(folds);
  command
      .Add("--curve", &options->curve,
           "write a picture (SVG) of training and validation AUROC by epoch here")
      .Excludes(folds);
  command
      .Add("--patience", &t.patience,
           "epochs without a better validation AUROC; 0: the recipe's own")
      .Range(0, 1e6)
      .ShowDefault();
  command.Add("--no-exact", &options->no_exact,
              "do not also train with exact normalisation, for comparison in reports");
}

}  // namespace heft::cli
