// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "experiment/cross_validation.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/reports.h"

namespace heft::cli {
namespace {

struct Options {
  experiment::EvaluationOptions evaluation;
  std::vector<std::string> models;
  int folds = 0;
  uint64_t fold_seed = 1;
  bool choices = false, partial_probes = false, plain = false;
  std::string split = "test";
  std::string report, pictures;
};

// Each picture of the report as a file.
absl::Status WritePictures(const std::string& folder, const experiment::Plots& plots) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  const std::pair<const char*, const std::string*> pictures[] = {
      {"roc", &plots.roc},
      {"scores", &plots.scores},
      {"approximation", &plots.approximation},
      {"relative_error", &plots.relative_error},
      {"score_error", &plots.score_error},
      {"norms", &plots.norms}};
  for (const auto& [name, picture] : pictures) {
    if (picture->empty()) continue;
    HEFT_RETURN_IF_ERROR(
        WriteResult(absl::StrCat(folder, "/", name, ".svg"), experiment::SvgFile(*picture)));
  }
  return absl::OkStatus();
}

// Before the work, not after it.
absl::Status CheckReport(const std::string& report) {
  if (report.empty()) return absl::OkStatus();
  const std::filesystem::path folder = std::filesystem::absolute(report).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    return absl::NotFoundError(absl::StrCat(folder.string(), ": no such folder for the report"));
  }
  return experiment::CheckGnuplot();
}

absl::Status RunOnce(const Common& common, Options options) {
  if (options.models.size() != 1) {
    return absl::InvalidArgumentError("give one model with --model, or --folds");
  }
  options.evaluation.model = options.models[0];
  options.evaluation.left_out = [&](const auto& names) { SayLeftOut(common, names); };
  HEFT_ASSIGN_OR_RETURN(options.evaluation.split, ParseSplit(options.split));
  HEFT_ASSIGN_OR_RETURN(const experiment::Evaluation evaluation,
                        experiment::Evaluate(common.monitor, options.evaluation));
  Json json = experiment::ToJson(evaluation);
  std::string text = experiment::ToText(evaluation);
  if (!options.report.empty() || !options.pictures.empty()) {
    HEFT_ASSIGN_OR_RETURN(const experiment::Plots plots, experiment::DrawPlots(evaluation));
    if (!options.report.empty()) {
      HEFT_RETURN_IF_ERROR(WriteResult(options.report, experiment::MakeReport(evaluation, plots)));
      json["report"] = options.report;
      absl::StrAppend(&text, "report: ", options.report, "\n");
    }
    if (!options.pictures.empty()) {
      HEFT_RETURN_IF_ERROR(WritePictures(options.pictures, plots));
      json["pictures"] = options.pictures;
    }
  }
  if (!common.quiet) {
    for (const std::string& warning : evaluation.warnings) {
      std::cerr << "heft: warning: " << warning << "\n";
    }
  }
  Print(common, json, text);
  return absl::OkStatus();
}

// The models of every folder named; several are told apart by their folders' names.
absl::StatusOr<std::vector<experiment::FoldModels>> LoadAllFolds(const Options& options,
                                                                 const Dataset& dataset) {
  std::vector<experiment::FoldModels> sets;
  for (const std::string& folder : options.models) {
    experiment::FoldModels set;
    if (options.models.size() > 1) set.id = set.label = experiment::FolderName(folder);
    for (const experiment::FoldModels& other : sets) {
      if (other.id == set.id) {
        return absl::InvalidArgumentError(
            absl::StrCat("two folders are called ", set.id, "; rows would have the same name"));
      }
    }
    HEFT_ASSIGN_OR_RETURN(set.models,
                          experiment::LoadFolds(folder, dataset, options.folds, options.fold_seed));
    sets.push_back(std::move(set));
  }
  return sets;
}

// The command that gave these numbers.
std::string FoldCommand(const Options& options) {
  std::string command =
      absl::StrCat("heft evaluate --data ", experiment::ShellWord(options.evaluation.data),
                   " --folds ", options.folds, " --fold-seed ", options.fold_seed);
  for (const std::string& m : options.models)
    absl::StrAppend(&command, " --model ", experiment::ShellWord(m));
  if (options.choices) absl::StrAppend(&command, " --choices");
  if (options.partial_probes) absl::StrAppend(&command, " --partial-probes");
  if (options.plain) absl::StrAppend(&command, " --plain");
  absl::StrAppend(&command, " --replicates ", options.evaluation.replicates);
  if (options.evaluation.seed) absl::StrAppend(&command, " --seed ", *options.evaluation.seed);
  return absl::StrCat(command, " --report report.html");
}

absl::Status RunFolds(const Common& common, const Options& options) {
  if (!options.pictures.empty()) {
    return absl::InvalidArgumentError("--pictures cannot be used with --folds; use --report");
  }
  if (options.choices == !options.models.empty()) {
    return absl::InvalidArgumentError(
        "with --folds give --model FOLDER, made by heft train --folds, or --choices");
  }
  experiment::CrossValidationOptions validation;
  validation.folds = options.folds;
  validation.fold_seed = options.fold_seed;
  validation.partial_probes = options.partial_probes;
  validation.encrypted = !options.plain;
  validation.bootstrap.replicates = options.evaluation.replicates;
  validation.bootstrap.seed = options.evaluation.seed.value_or(1);
  HEFT_ASSIGN_OR_RETURN(const Dataset dataset, LoadDataset(options.evaluation.data));
  SayLeftOut(common, dataset.left_out);
  absl::StatusOr<experiment::CrossValidation> result;
  if (options.choices) {
    result = experiment::CompareChoices(common.monitor, dataset, {.validation = validation});
  } else {
    HEFT_ASSIGN_OR_RETURN(const std::vector<experiment::FoldModels> sets,
                          LoadAllFolds(options, dataset));
    result = experiment::CrossValidate(common.monitor, dataset, sets, validation);
  }
  HEFT_RETURN_IF_ERROR(result.status());
  Json json = {{"data", options.evaluation.data}};
  json.update(experiment::ToJson(*result));
  std::string text = experiment::ToText(*result);
  if (!options.report.empty()) {
    HEFT_ASSIGN_OR_RETURN(
        const std::string report,
        experiment::MakeFoldReport(*result, experiment::FolderName(options.evaluation.data),
                                   experiment::DescribeData(options.evaluation.data),
                                   FoldCommand(options)));
    HEFT_RETURN_IF_ERROR(WriteResult(options.report, report));
    json["report"] = options.report;
    absl::StrAppend(&text, "report: ", options.report, "\n");
  }
  Print(common, json, text);
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_RETURN_IF_ERROR(CheckReport(options.report));
  if (!options.pictures.empty()) HEFT_RETURN_IF_ERROR(experiment::CheckGnuplot());
  if (options.folds > 0) return RunFolds(common, options);
  if (options.choices || options.partial_probes || options.plain) {
    return absl::InvalidArgumentError("--choices, --partial-probes and --plain need --folds");
  }
  return RunOnce(common, options);
}

}  // namespace

void AddEvaluate(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "evaluate", "measure a model on a data set, plain and encrypted, against baselines",
      "heft evaluate --data lfw-speech --model m.heft --report report.html",
      [options](const Common& common) { return Run(common, *options); });
  experiment::EvaluationOptions& e = options->evaluation;
  command.Add("-d,--data", &e.data, "data folder").Required();
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
  command.Add("--split", &options->split, "the samples to measure on")
      .Choices({"train", "val", "test"})
      .ShowDefault();
  command.Add("--plain", &options->plain, "with --folds: leave the encrypted rows out");
  command.Add("--report", &options->report, "write a self-contained HTML page here");
  command.Add("--pictures", &options->pictures,
              "write the report's pictures into this folder as SVG files (without --folds)");
  command.Add("--seed", &e.seed, "of the bootstrap (default 1)");
  command.Add("--replicates", &e.replicates, "of the bootstrap").Range(10, 1000000).ShowDefault();
}

}  // namespace heft::cli
