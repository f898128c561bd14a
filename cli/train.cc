// SPDX-License-Identifier: Apache-2.0
#include "heft/train.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/training.h"
#include "heft/evaluate.h"
#include "program/common.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct TrainFlags {
  std::string data, out, pictures, sign;
  int folds = 0;
  bool no_exact = false;
  LearnOptions learn;
};

LearnOptions LearnOf(const TrainFlags& options) {
  LearnOptions learn = options.learn;
  learn.with_exact = !options.no_exact;
  return learn;
}

absl::Status RunOnce(const Common& common, const TrainFlags& options, const TrainingData& data) {
  // Before the training, in case the key is missing.
  std::optional<SigningKey> signer;
  if (!options.sign.empty()) {
    HEFT_ASSIGN_OR_RETURN(signer, LoadSigner(options.sign));
  }
  LearnOptions learn = LearnOf(options);
  std::vector<LearnEpoch> curve;
  if (!options.pictures.empty()) learn.curve = &curve;
  HEFT_ASSIGN_OR_RETURN(const Model model, Learn(data, learn, common.monitor));
  HEFT_ASSIGN_OR_RETURN(Described told, DescribeTraining(model));
  std::vector<uint8_t> bytes = model.Serialize();
  if (signer) {
    HEFT_ASSIGN_OR_RETURN(bytes, signer->Sign({.role = Role::kTrainer}, bytes));
  }
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  if (!options.pictures.empty()) {
    HEFT_ASSIGN_OR_RETURN(const std::string picture,
                          DrawLearningCurve(curve, told.json["best_epoch"].get<int>()));
    HEFT_RETURN_IF_ERROR(MakeDirectories(options.pictures));
    HEFT_RETURN_IF_ERROR(WriteResult(options.pictures + "/learning.svg", picture));
  }
  Json json = {{"out", options.out}, {"bytes", bytes.size()}};
  json.update(told.json);
  told.json = std::move(json);
  told.text = absl::StrCat("model ", HexString(model.Id()), ": ", options.out, "\n", told.text);
  Print(common, told);
  return absl::OkStatus();
}

absl::Status RunFolds(const Common& common, const TrainFlags& options, const TrainingData& data) {
  const FoldOptions how = {.folds = options.folds, .encrypted = false};
  HEFT_ASSIGN_OR_RETURN(std::vector<Model> models, LearnFolds(data, LearnOf(options), options.folds,
                                                              how.fold_seed, common.monitor));
  const FoldModels set{"", std::move(models)};
  HEFT_ASSIGN_OR_RETURN(const Report report,
                        EvaluateFolds(data, std::span(&set, 1), how, common.monitor));
  Described told;
  for (int fold = 0; fold < options.folds; ++fold) {
    HEFT_ASSIGN_OR_RETURN(const Described training, DescribeTraining(set.models[fold]));
    for (const std::string& warning : training.warnings) {
      told.warnings.push_back(
          absl::StrCat("fold ", fold + 1, " of ", options.folds, ": ", warning));
    }
  }
  // All files or none, if the disk allows it.
  if (Interrupted()) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(SaveFolds(options.out, set.models));
  told.json = {{"out", options.out}};
  told.json.update(report.json);
  told.text =
      absl::StrCat(report.text, "models: ", FoldFile(options.out, 0), " to ",
                   FoldFile(options.out, options.folds - 1), "; heft evaluate --folds ",
                   options.folds, " --model ", options.out, " computes the encrypted rows too\n");
  Print(common, told);
  return absl::OkStatus();
}

absl::Status RunTrain(const Common& common, const TrainFlags& options) {
  const bool folds = options.folds > 0;
  HEFT_RETURN_IF_ERROR(folds ? CheckNewFolderPlace(options.out, "models of folds")
                             : CheckFilePlace(options.out, "model"));
  if (!options.pictures.empty()) {
    HEFT_RETURN_IF_ERROR(CheckFolderPlace(options.pictures, "pictures"));
    HEFT_RETURN_IF_ERROR(CheckDrawing());
  }
  HEFT_ASSIGN_OR_RETURN(const TrainingData data,
                        LoadTrainingData(common, options.data, options.learn));
  if (!folds) HEFT_RETURN_IF_ERROR(CheckOutput(options.out));
  return folds ? RunFolds(common, options, data) : RunOnce(common, options, data);
}

// Options for the form of the model and its training.
void AddLearning(Command command, LearnOptions* learn) {
  LearnOptions& t = *learn;
  command
      .Add(
          "--gamma", &t.gamma,
          "fused dimension: 16, 32, 64, ... (default: chosen on people left out, 16 to 256). A "
          "template takes 16 bytes per dimension in a gallery; keys and matching time grow with it")
      .Range(2, kMaxGamma);
  AddMethod(command, learn);
  command.Add("--recipe", &t.recipe, "generalising, or paper").ShowDefault();
  command
      .Add("--degree", &t.degree, "degree of the normalisation's polynomial (default 3; paper 2)")
      .Range(2, 3);
  command.Add("--profile", &t.profile, "parameters: standard or flooded").ShowDefault();
  command.Add("--epochs", &t.epochs, "0: from the recipe").Range(0, 1e6).ShowDefault();
  command
      .Add("--drop-modality", &t.drop_modality,
           "probability of training without a modality, for probes that lack one")
      .Range(0, 0.9)
      .ShowDefault();
  command.Add(
      "--against-wolves", &t.against_wolves,
      "set thresholds so that a probe chosen to match many people is accepted no more often "
      "than the stated rate; they reject more genuine claims");
  command.Add("--seed", &t.seed, "random seed").ShowDefault();
}

}  // namespace

absl::StatusOr<TrainingData> LoadTrainingData(const Common& common, const std::string& data,
                                              const LearnOptions& learn) {
  // Where labels are needed and missing, the training says which methods do without.
  HEFT_ASSIGN_OR_RETURN(TrainingData loaded, TrainingData::LoadUnlabelled(data, learn.seed));
  SayLeftOut(common, loaded.left_out());
  return loaded;
}

Option AddMethod(Command command, LearnOptions* learn) {
  return command.Add("--method", &learn->method,
                     "learned; pca, for vectors without labels; or none, the plain concatenation "
                     "(default: learned, or another that is better on people left out)");
}

void AddTrain(Command app) {
  const auto [command, options] =
      AddCommand(app, "train", "learn the fusion of a data set's modalities",
                 "heft train --data lfw-speech --out m.heft --gamma 32 --degree 3", RunTrain);
  LearnOptions& t = options->learn;
  command.Add("-d,--data", &options->data, "data folder").Required();
  command.Add("-o,--out", &options->out, "model file to write; with --folds a folder").Required();
  const Option folds =
      command
          .Add("--folds", &options->folds,
               "train a model for each of this many identity folds, and compare on them")
          .Range(3, 1000);
  AddLearning(command, &t);
  command.Add("--sign", &options->sign, "sign the model as its trainer, with this key (heft trust)")
      .Excludes(folds);
  command
      .Add("--pictures", &options->pictures,
           "write a picture of training and validation AUROC by epoch into this folder "
           "(learning.svg)")
      .Excludes(folds);
  command.Add(
      "--no-exact", &options->no_exact,
      "do not train a second model with exact normalisation, which reports use for comparison");
}

}  // namespace heft::cli
