// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "experiment/choices.h"
#include "experiment/cross_validation.h"
#include "experiment/cross_validation_output.h"
#include "experiment/evaluation.h"
#include "experiment/gnuplot.h"
#include "experiment/report.h"
#include "experiment/report_plots.h"

namespace heft::cli {
using namespace experiment;  // NOLINT

namespace {

struct Options {
  EvaluationOptions evaluation;
  std::vector<std::string> models;
  int folds = 0;
  uint64_t fold_seed = 1;
  bool choices = false, partial_probes = false, plain = false;
  std::string split = "test";
  std::string report, pictures;
};

Json ToJson(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

Json DataJson(const Evaluation& e) {
  Json modalities = Json::array();
  for (const ModalitySpec& m : e.model.modalities) {
    modalities.push_back({{"name", m.name}, {"dimension", m.dimension}});
  }
  Json data = {{"folder", e.options.data}, {"split", SplitName(e.options.split)}};
  if (!e.data_description.empty()) data["description"] = e.data_description;
  data.update({{"split_was_derived", e.split_was_derived},
               {"samples", e.samples},
               {"identities", e.identities},
               {"genuine_pairs", e.genuine_pairs},
               {"impostor_pairs", e.impostor_pairs},
               {"modalities", modalities}});
  return data;
}

Json ModelJson(const Evaluation& e) {
  const Approximation& f = e.model.approximation;
  return {{"file", e.options.model},
          {"id", HexString(e.model.Id())},
          {"gamma", e.model.gamma},
          {"profile", e.model.profile},
          {"parameters", e.run.parameters},
          {"security", e.run.security},
          {"approximation",
           {{"fit", f.name},
            {"degree", f.Degree()},
            {"interval", {f.interval.lo, f.interval.hi}},
            {"max_relative_error", f.MaxRelativeError()}}},
          {"samples_outside_interval", e.outside}};
}

Json SystemsJson(const Evaluation& e) {
  Json systems = Json::array();
  for (const SystemResult& s : e.systems) {
    Json row = {{"id", s.id},
                {"label", s.label},
                {"dimension", s.dimension},
                {"encrypted", s.encrypted},
                {"auroc", ToJson(s.estimate.auroc)},
                {"eer", ToJson(s.estimate.eer)},
                {"tar_at_far_1e-2", ToJson(s.estimate.tar_1e2)},
                {"tar_at_far_1e-3", ToJson(s.estimate.tar_1e3)}};
    if (s.encrypted_minus_this) row["encrypted_minus_this"] = ToJson(*s.encrypted_minus_this);
    systems.push_back(std::move(row));
  }
  return systems;
}

Json RunJson(const EncryptedRun& run) {
  return {{"threads", run.threads},
          {"keys_seconds", run.keys_seconds},
          {"encrypt_and_fuse_seconds", run.fuse_seconds},
          {"enrol_seconds", run.enrol_seconds},
          {"match_and_decrypt_seconds", run.match_seconds},
          {"encrypt_ms", run.encrypt_ms},
          {"fuse_ms", run.fuse_ms},
          {"prepare_probe_ms", run.prepare_ms},
          {"match_block_ms", run.match_block_ms},
          {"decrypt_block_ms", run.decrypt_ms},
          {"blocks", run.blocks},
          {"evaluation_keys_bytes", run.evaluation_keys_bytes},
          {"sample_bytes", run.sample_bytes},
          {"template_bytes", run.template_bytes}};
}

Json ToJson(const Evaluation& e) {
  Json decisions = Json::array();
  for (const DecisionResult& d : e.decisions) {
    decisions.push_back({{"wanted_fmr", d.wanted_fmr},
                         {"threshold", d.threshold},
                         {"fmr", d.fmr},
                         {"fnmr", d.fnmr}});
  }
  Json gap = {{"auroc", e.gap.auroc},
              {"max_score", e.gap.max_score},
              {"rms_score", e.gap.rms_score},
              {"predicted_bound", e.run.predicted_error}};
  if (e.KeepsPromise()) gap["within_promise"] = *e.KeepsPromise();
  return {{"data", DataJson(e)},       {"model", ModelJson(e)},
          {"systems", SystemsJson(e)}, {"gap", gap},
          {"decisions", decisions},    {"encrypted_run", RunJson(e.run)},
          {"warnings", e.warnings},    {"seconds", e.seconds}};
}

std::string WithInterval(const Estimate& e) {
  return absl::StrFormat("%.4f [%.4f, %.4f]", e.value, e.lo, e.hi);
}

std::string ToText(const Evaluation& e) {
  std::string text = absl::StrFormat(
      "%s, split %s: %d samples of %d identities, %d genuine and %d impostor pairs\n", e.data_name,
      SplitName(e.options.split), e.samples, e.identities, e.genuine_pairs, e.impostor_pairs);
  if (!e.data_description.empty()) absl::StrAppend(&text, e.data_description, "\n");
  absl::StrAppendFormat(&text, "\n%-42s %4s  %-24s %-6s  %-24s %s\n", "system", "dim",
                        "AUROC [95% interval]", "EER", "TAR at FAR 1e-2", "TAR at FAR 1e-3");
  for (const SystemResult& s : e.systems) {
    absl::StrAppendFormat(&text, "%-42s %4d  %-24s %.4f  %-24s %s\n", s.label, s.dimension,
                          WithInterval(s.estimate.auroc), s.estimate.eer.value,
                          WithInterval(s.estimate.tar_1e2), WithInterval(s.estimate.tar_1e3));
  }
  const Interval& interval = e.model.approximation.interval;
  absl::StrAppendFormat(
      &text,
      "\nencrypted minus plain: AUROC %+.6f, scores rms %.1e, at most %.1e (predicted bound "
      "%.1e)\n%d of %d samples outside the interval [%.3f, %.3f]\n%s; %s\n",
      e.gap.auroc, e.gap.rms_score, e.gap.max_score, e.run.predicted_error, e.outside, e.samples,
      interval.lo, interval.hi, e.run.parameters, e.run.security);
  absl::StrAppendFormat(
      &text,
      "%.1f s on %d threads; a sample: encrypt %.1f ms, fuse %.1f ms, prepare %.1f ms, match a "
      "block %.1f ms\n",
      e.seconds, e.run.threads, e.run.encrypt_ms, e.run.fuse_ms, e.run.prepare_ms,
      e.run.match_block_ms);
  return text;
}

// Each picture of the report as a file.
absl::Status WritePictures(const std::string& folder, const Plots& plots) {
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
        WriteFileAtomic(absl::StrCat(folder, "/", name, ".svg"), SvgFile(*picture)));
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
  return CheckGnuplot();
}

absl::Status RunOnce(const Common& common, Options options) {
  if (options.models.size() != 1) {
    return absl::InvalidArgumentError("give one model with --model, or --folds");
  }
  options.evaluation.model = options.models[0];
  HEFT_ASSIGN_OR_RETURN(options.evaluation.split, ParseSplit(options.split));
  HEFT_ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate(common.monitor, options.evaluation));
  Json json = ToJson(evaluation);
  std::string text = ToText(evaluation);
  if (!options.report.empty() || !options.pictures.empty()) {
    HEFT_ASSIGN_OR_RETURN(const Plots plots, DrawPlots(evaluation));
    if (!options.report.empty()) {
      HEFT_RETURN_IF_ERROR(WriteFileAtomic(options.report, MakeReport(evaluation, plots)));
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
absl::StatusOr<std::vector<FoldModels>> LoadAllFolds(const Options& options,
                                                     const Dataset& dataset) {
  std::vector<FoldModels> sets;
  for (const std::string& folder : options.models) {
    FoldModels set;
    if (options.models.size() > 1) set.id = set.label = FolderName(folder);
    for (const FoldModels& other : sets) {
      if (other.id == set.id) {
        return absl::InvalidArgumentError(
            absl::StrCat("two folders are called ", set.id, "; rows would have the same name"));
      }
    }
    HEFT_ASSIGN_OR_RETURN(set.models, LoadFolds(folder, dataset, options.folds, options.fold_seed));
    sets.push_back(std::move(set));
  }
  return sets;
}

// The command that gave these numbers.
std::string FoldCommand(const Options& options) {
  std::string command =
      absl::StrCat("heft evaluate --data ", ShellWord(options.evaluation.data), " --folds ",
                   options.folds, " --fold-seed ", options.fold_seed);
  for (const std::string& m : options.models) absl::StrAppend(&command, " --model ", ShellWord(m));
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
  CrossValidationOptions validation;
  validation.folds = options.folds;
  validation.fold_seed = options.fold_seed;
  validation.partial_probes = options.partial_probes;
  validation.encrypted = !options.plain;
  validation.bootstrap.replicates = options.evaluation.replicates;
  validation.bootstrap.seed = options.evaluation.seed.value_or(1);
  HEFT_ASSIGN_OR_RETURN(const Dataset dataset, LoadDataset(options.evaluation.data));
  absl::StatusOr<CrossValidation> result;
  if (options.choices) {
    result = CompareChoices(common.monitor, dataset, {.validation = validation});
  } else {
    HEFT_ASSIGN_OR_RETURN(const std::vector<FoldModels> sets, LoadAllFolds(options, dataset));
    result = CrossValidate(common.monitor, dataset, sets, validation);
  }
  HEFT_RETURN_IF_ERROR(result.status());
  Json json = {{"data", options.evaluation.data}};
  json.update(ToJson(*result));
  std::string text = ToText(*result);
  if (!options.report.empty()) {
    HEFT_ASSIGN_OR_RETURN(
        const std::string report,
        MakeFoldReport(*result, FolderName(options.evaluation.data),
                       DescribeData(options.evaluation.data), FoldCommand(options)));
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(options.report, report));
    json["report"] = options.report;
    absl::StrAppend(&text, "report: ", options.report, "\n");
  }
  Print(common, json, text);
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_RETURN_IF_ERROR(CheckReport(options.report));
  if (!options.pictures.empty()) HEFT_RETURN_IF_ERROR(CheckGnuplot());
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
  EvaluationOptions& e = options->evaluation;
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
