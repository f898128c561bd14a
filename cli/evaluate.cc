// SPDX-License-Identifier: Apache-2.0
#include "heft/evaluate.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/evaluate_extra.h"
#include "program/common.h"

namespace heft::cli {
namespace {

using Options = EvaluateFlags;

absl::Status RunOnce(const Common& common, const Options& options) {
  if (options.models.size() != 1) {
    return absl::InvalidArgumentError("give one model with --model, or --folds");
  }
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.models[0]));
  HEFT_ASSIGN_OR_RETURN(const TrainingData data,
                        TrainingData::Load(options.data, SplitSeed(model)));
  SayLeftOut(common, data.left_out());
  HEFT_ASSIGN_OR_RETURN(
      Report report,
      options.protection_asked
          ? EvaluateProtection(data, model, Filled(common, options, options.protection),
                               common.monitor)
          : Evaluate(data, model, Filled<EvaluationOptions>(common, options), common.monitor));
  report.json["model"]["file"] = options.models[0];
  return FinishReport(common, options.output, std::move(report));
}

// The models of every folder named; several are told apart by their folders' names.
absl::StatusOr<std::vector<FoldModels>> LoadAllFolds(const Options& options,
                                                     const TrainingData& data) {
  std::vector<FoldModels> sets;
  for (const std::string& folder : options.models) {
    FoldModels set;
    std::error_code ignored;
    const std::filesystem::path path = std::filesystem::absolute(folder + "/.", ignored);
    if (options.models.size() > 1) set.name = path.lexically_normal().parent_path().filename();
    HEFT_ASSIGN_OR_RETURN(set.models, LoadFolds(folder, data, options.folds, options.fold_seed));
    sets.push_back(std::move(set));
  }
  return sets;
}

absl::StatusOr<Report> MeasureFolds(const Common& common, const Options& options,
                                    const TrainingData& data) {
  FoldOptions folds = Filled<FoldOptions>(common, options);
  folds.partial_probes = options.partial_probes;
  if (!options.samples.samples.empty()) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Model> models,
                          LoadFolds(options.models[0], data, options.folds, options.fold_seed));
    return EvaluateSamples(data, models, Filled(common, options, options.samples), common.monitor);
  }
  if (options.choices) return CompareChoices(data, folds, common.monitor);
  HEFT_ASSIGN_OR_RETURN(const std::vector<FoldModels> sets, LoadAllFolds(options, data));
  return EvaluateFolds(data, sets, folds, common.monitor);
}

absl::Status RunFolds(const Common& common, const Options& options) {
  if (options.protection_asked) {
    return absl::InvalidArgumentError("--protection takes one model, and no --folds");
  }
  if (!options.samples.samples.empty() && options.models.size() != 1) {
    return absl::InvalidArgumentError("--samples takes one folder of models, with --model");
  }
  if (options.choices == !options.models.empty()) {
    return absl::InvalidArgumentError(
        "with --folds give --model FOLDER, made by heft train --folds, or --choices");
  }
  HEFT_ASSIGN_OR_RETURN(const TrainingData data, TrainingData::Load(options.data));
  SayLeftOut(common, data.left_out());
  HEFT_ASSIGN_OR_RETURN(Report report, MeasureFolds(common, options, data));
  PutFirst({{"data", options.data}}, &report);
  return FinishReport(common, options.output, std::move(report));
}

// People like those of the data, of one model or of all folds'.
absl::Status RunSearches(const Common& common, const Options& options) {
  if (options.choices || options.models.size() != 1) {
    return absl::InvalidArgumentError("with --searches give one --model, FILE or FOLDER of folds");
  }
  HEFT_ASSIGN_OR_RETURN(Report report, MeasureSearches(common, options));
  return FinishReport(common, options.output, std::move(report));
}

absl::Status RunProtocol(const Common& common, const Options& options) {
  if (options.folds > 0 || options.choices || options.models.size() != 1) {
    return absl::InvalidArgumentError("with --protocol give one --model FILE, and no --folds");
  }
  if (!options.output.pictures.empty()) {
    return absl::InvalidArgumentError("--protocol draws its pictures into --report");
  }
  HEFT_ASSIGN_OR_RETURN(Report report, MeasureProtocol(common, options));
  return FinishReport(common, options.output, std::move(report));
}

// One run measures one thing: what is asked for beside it would be left out without a word.
absl::Status CheckOneStudy(const Options& options) {
  std::vector<std::string> asked;
  const auto add = [&](bool given, const char* name) {
    if (given) asked.push_back(name);
  };
  add(options.searches_asked, "--searches");
  add(!options.protocol.empty(), "--protocol");
  add(options.protection_asked, "--protection");
  add(!options.samples.samples.empty(), "--samples");
  add(options.choices, "--choices");
  add(options.partial_probes, "--partial-probes");
  // Of folds these go together.
  const bool together = options.choices && options.partial_probes && asked.size() == 2;
  if (asked.size() > 1 && !together) {
    return absl::InvalidArgumentError(absl::StrCat(
        absl::StrJoin(asked, " and "), " measure different things: give one at a time"));
  }
  if (options.plain && (options.searches_asked || options.protection_asked)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plain says nothing of ", asked[0], ": leave it out"));
  }
  // What is drawn or averaged before it is compared has no pairs to list.
  const bool without_scores = options.searches_asked || options.protection_asked ||
                              !options.samples.samples.empty() || options.choices;
  if (without_scores && !options.output.scores.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--scores does not go with ", asked[0]));
  }
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_RETURN_IF_ERROR(CheckOneStudy(options));
  HEFT_RETURN_IF_ERROR(CheckReport(options.output));
  if (options.searches_asked) return RunSearches(common, options);
  if (!options.protocol.empty()) return RunProtocol(common, options);
  if (options.folds > 0) return RunFolds(common, options);
  if (options.choices || options.partial_probes || options.plain ||
      !options.samples.samples.empty()) {
    return absl::InvalidArgumentError(
        "--choices, --partial-probes, --plain and --samples need --folds");
  }
  return RunOnce(common, options);
}

}  // namespace

void AddEvaluate(Command app) {
  const auto [command, options] = AddCommand(
      app, "evaluate", "measure a model on a data set, plain and encrypted, against baselines",
      "heft evaluate --data lfw-speech --model m.heft --report report.html", Run);
  command.Add("-d,--data", &options->data, "data folder").Required();
  command.Add("-m,--model", &options->models,
              "model file; with --folds a folder made by heft train --folds, or several to "
              "compare");
  command.Add("--folds", &options->folds, "measure over identity folds, every person tested once")
      .Range(3, 1000);
  command.Add("--fold-seed", &options->fold_seed, "the one given to heft train --folds")
      .ShowDefault();
  command.Add("--choices", &options->choices,
              "with --folds: train and compare fused dimensions, approximations and weights");
  command.Add("--partial-probes", &options->partial_probes,
              "with --folds: also probes that have one modality only");
  AddStudyOptions(command, options.get());
  command.Add("--split", &options->split, "the samples to measure on")
      .Choices({"train", "val", "test"})
      .ShowDefault();
  command.Add("--plain", &options->plain,
              "with --folds or --protocol: leave the encrypted rows out");
  AddReportOptions(command, &options->output);
  AddScoreOptions(command, "the comparisons that were measured, encrypted beside plain,",
                  &options->output);
  command.Add("--seed", &options->seed, "of the bootstrap (default 1)");
  command.Add("--replicates", &options->replicates, "of the bootstrap")
      .Range(10, 1000000)
      .ShowDefault();
}

}  // namespace heft::cli
