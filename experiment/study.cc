// SPDX-License-Identifier: Apache-2.0
#include "heft/study.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace heft {
namespace {

// Filled: `study`, with those options that it has of the ones that studies have in common.
template <typename Study>
Study Filled(const StudyOptions& options, Study study = {}) {
  study.command = options.command;
  if constexpr (requires { study.seed; }) study.seed = options.seed;
  if constexpr (requires { study.pictures; }) {
    study.page = options.page;
    study.pictures = options.pictures;
  } else {
    study.page = options.page || options.pictures;
  }
  if constexpr (requires { study.split; }) study.split = options.split;
  if constexpr (requires { study.replicates; }) study.replicates = options.replicates;
  if constexpr (requires { study.bootstrap_seed; }) study.bootstrap_seed = options.seed;
  if constexpr (requires { study.encrypted; }) study.encrypted = !options.plain;
  if constexpr (requires { study.scores; }) study.scores = options.scores;
  if constexpr (requires { study.partial_probes; }) study.partial_probes = options.partial_probes;
  if constexpr (requires { study.fold_seed; }) {
    study.folds = options.folds;
    study.fold_seed = options.fold_seed;
  }
  return study;
}

bool OfSamples(const StudyOptions& options) { return !options.samples.empty(); }

absl::Status CheckOne(const StudyOptions& options) {
  std::vector<std::string> asked;
  const auto add = [&](bool given, const char* name) {
    if (given) asked.push_back(name);
  };
  add(options.searches, "--searches");
  add(!options.protocol.empty(), "--protocol");
  add(!options.distractors.empty(), "--distractors");
  add(options.protection, "--protection");
  add(OfSamples(options), "--samples");
  add(options.choices, "--choices");
  add(options.partial_probes, "--partial-probes");
  // Of folds these go together.
  const bool together = options.choices && options.partial_probes && asked.size() == 2;
  if (asked.size() > 1 && !together) {
    return absl::InvalidArgumentError(absl::StrCat(
        absl::StrJoin(asked, " and "), " measure different things: give one at a time"));
  }
  if (options.plain && (options.searches || options.protection)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plain has no effect with ", asked[0], ": leave it out"));
  }
  if (!options.strangers.empty() && options.distractors.empty()) {
    return absl::InvalidArgumentError("--strangers needs --distractors FOLDER");
  }
  // Samples that are drawn or averaged before a comparison have no pairs to list, and a large
  // gallery has too many.
  const bool without_scores = options.searches || !options.distractors.empty() ||
                              options.protection || OfSamples(options) || options.choices;
  if (without_scores && options.scores) {
    return absl::InvalidArgumentError(absl::StrCat("--scores cannot be combined with ", asked[0]));
  }
  return absl::OkStatus();
}

// The complaint about the models of the requested study; empty if they fit.
std::string WrongModels(const StudyOptions& options) {
  const bool one = options.models.size() == 1;
  if (options.searches) {
    return one ? "" : "with --searches give one --model, FILE or FOLDER of folds";
  }
  if (!options.protocol.empty()) {
    return one && options.folds == 0 ? "" : "with --protocol give one --model FILE, and no --folds";
  }
  if (!options.distractors.empty()) {
    return one && options.folds == 0 ? ""
                                     : "with --distractors give one --model FILE, and no --folds";
  }
  if (options.folds > 0) {
    if (options.protection) return "--protection takes one model, and no --folds";
    if (OfSamples(options) && !one) return "--samples takes one folder of models, with --model";
    if (options.choices != options.models.empty()) {
      return "with --folds give --model FOLDER, made by heft train --folds, or --choices";
    }
    return "";
  }
  if (options.choices || options.partial_probes || options.plain || OfSamples(options)) {
    return "--choices, --partial-probes, --plain and --samples need --folds";
  }
  return one ? "" : "give one model with --model, or --folds";
}

// The models of every folder named; several are told apart by their folders' names.
absl::StatusOr<std::vector<FoldModels>> LoadAllFolds(const StudyOptions& options,
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

absl::StatusOr<Report> Measure(const LoadedStudy& study, const Monitor& monitor) {
  const auto& [options, data, sets, distractors, strangers] = study;
  if (options.choices) return CompareChoices(data, Filled<FoldOptions>(options), monitor);
  const std::vector<Model>& models = sets[0].models;
  if (options.searches) {
    return EvaluateSearches(data, models, Filled(options, options.searched_by), monitor);
  }
  if (!options.protocol.empty()) {
    const std::string names = options.names.empty() ? options.data + "/names.txt" : options.names;
    return EvaluateProtocol(data, models[0], options.protocol, names,
                            Filled<ProtocolOptions>(options), monitor);
  }
  if (!options.distractors.empty()) {
    return EvaluateGallery(data, models[0], *distractors, strangers ? &*strangers : nullptr,
                           Filled<GalleryOptions>(options), monitor);
  }
  if (OfSamples(options)) {
    SampleStudyOptions sampled = Filled(options, options.sampled_by);
    sampled.samples = options.samples;
    return EvaluateSamples(data, models, sampled, monitor);
  }
  if (options.folds > 0) return EvaluateFolds(data, sets, Filled<FoldOptions>(options), monitor);
  if (options.protection) {
    return EvaluateProtection(data, models[0], Filled(options, options.protected_by), monitor);
  }
  return Evaluate(data, models[0], Filled<EvaluationOptions>(options), monitor);
}

}  // namespace

absl::Status CheckStudy(const StudyOptions& options) {
  HEFT_RETURN_IF_ERROR(CheckOne(options));
  if (std::string wrong = WrongModels(options); !wrong.empty()) {
    return absl::InvalidArgumentError(wrong);
  }
  if (!options.pictures) return absl::OkStatus();
  if (!options.distractors.empty()) {
    return absl::InvalidArgumentError("--distractors draws no pictures: leave out --pictures");
  }
  if (options.protocol.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--protocol draws its pictures into --report: leave out --pictures");
}

absl::StatusOr<LoadedStudy> LoadStudy(const StudyOptions& options) {
  HEFT_RETURN_IF_ERROR(CheckStudy(options));
  if (options.folds > 0) {
    HEFT_ASSIGN_OR_RETURN(TrainingData data, TrainingData::Load(options.data));
    HEFT_ASSIGN_OR_RETURN(std::vector<FoldModels> sets, LoadAllFolds(options, data));
    return LoadedStudy{options, std::move(data), std::move(sets)};
  }
  HEFT_ASSIGN_OR_RETURN(Model model, LoadModel(options.models[0]));
  HEFT_ASSIGN_OR_RETURN(TrainingData data, TrainingData::Load(options.data, SplitSeed(model)));
  LoadedStudy study = {options, std::move(data), {{"", {std::move(model)}}}};
  if (!options.distractors.empty()) {
    HEFT_ASSIGN_OR_RETURN(study.distractors, TrainingData::Load(options.distractors));
  }
  if (!options.strangers.empty()) {
    HEFT_ASSIGN_OR_RETURN(study.strangers, TrainingData::Load(options.strangers));
  }
  return study;
}

absl::StatusOr<Report> RunStudy(const LoadedStudy& study, const Monitor& monitor) {
  const StudyOptions& options = study.options;
  HEFT_RETURN_IF_ERROR(CheckStudy(options));
  if (!options.choices && (study.models.empty() || study.models[0].models.empty())) {
    return absl::InvalidArgumentError("a study without models: load it with LoadStudy");
  }
  const bool protocol = !options.protocol.empty(), gallery = !options.distractors.empty();
  if (gallery && !study.distractors) {
    return absl::InvalidArgumentError("a gallery without distractors: load it with LoadStudy");
  }
  HEFT_ASSIGN_OR_RETURN(Report report, Measure(study, monitor));
  if (options.folds == 0 && !options.searches && !protocol && !gallery) {
    report.json["model"]["file"] = options.models[0];
    return report;
  }
  Json head = {{"data", options.data}};
  if (protocol) head.update({{"protocol", options.protocol}, {"model", options.models[0]}});
  if (gallery) {
    head.update({{"distractors", options.distractors}, {"model", options.models[0]}});
    if (!options.strangers.empty()) head["strangers"] = options.strangers;
  }
  head.update(report.json);
  report.json = std::move(head);
  return report;
}

}  // namespace heft
