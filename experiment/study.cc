// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/evaluate.h"

namespace heft {
namespace {

// Filled: `study`, with those options that it has of the ones that studies have in common.
template <typename Options>
Options Filled(const StudyOptions& options, Options study = {}) {
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

absl::Status Wrong(const StudyOptions& options, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("study ", StudyName(options.study), ": ", std::string(why)));
}

// What the study has no use for.
absl::Status CheckUses(const StudyOptions& options) {
  const Study study = options.study;
  const bool evaluation = study == Study::kEvaluation;
  if (options.plain && (study == Study::kSearches || study == Study::kProtection)) {
    return Wrong(options, "--plain has no effect: leave it out");
  }
  if (options.partial_probes && !evaluation && study != Study::kChoices) {
    return Wrong(options, "--partial-probes has no effect: leave it out");
  }
  // Samples that are drawn or averaged before a comparison have no pairs to list, and a large
  // gallery has too many.
  if (options.scores && !evaluation && study != Study::kProtocol) {
    return Wrong(options, "there are no pairs to list: leave out --scores");
  }
  if (options.pictures && study == Study::kGallery) {
    return Wrong(options, "it draws no pictures: leave out --pictures");
  }
  if (options.pictures && study == Study::kProtocol) {
    return Wrong(options, "its pictures are drawn into --report: leave out --pictures");
  }
  return absl::OkStatus();
}

// The complaint about the inputs of the study; empty if they fit.
std::string WrongInputs(const StudyOptions& options) {
  const bool one = options.models.size() == 1, folds = options.folds > 0;
  switch (options.study) {
    case Study::kSearches:
      return one ? "" : "give one --model, FILE or FOLDER of folds";
    case Study::kProtocol:
      if (options.protocol.empty()) return "give --protocol FOLDER";
      return one && !folds ? "" : "give one --model FILE, and no --folds";
    case Study::kGallery:
      if (options.distractors.empty()) return "give --distractors FOLDER";
      return one && !folds ? "" : "give one --model FILE, and no --folds";
    case Study::kProtection:
      return one && !folds ? "" : "give one --model FILE, and no --folds";
    case Study::kSamples:
      if (options.samples.empty()) return "give numbers of samples with --samples";
      return one && folds ? "" : "give --folds, and one folder of models with --model";
    case Study::kChoices:
      return folds && options.models.empty() ? ""
                                             : "give --folds, and no --model: it trains its own";
    case Study::kEvaluation:
      if (folds && options.models.empty()) {
        return "with --folds give --model FOLDER, made by heft train --folds";
      }
      if (!folds && (options.partial_probes || options.plain)) {
        return "--partial-probes and --plain need --folds";
      }
      return one || folds ? "" : "give one model with --model, or --folds";
  }
  return "";
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
  if (options.study == Study::kChoices) {
    return CompareChoices(data, Filled<FoldOptions>(options), monitor);
  }
  const std::vector<Model>& models = sets[0].models;
  switch (options.study) {
    case Study::kSearches:
      return EvaluateSearches(data, models, Filled(options, options.searched_by), monitor);
    case Study::kProtection:
      return EvaluateProtection(data, models[0], Filled(options, options.protected_by), monitor);
    case Study::kSamples: {
      SampleStudyOptions sampled = Filled(options, options.sampled_by);
      sampled.samples = options.samples;
      return EvaluateSamples(data, models, sampled, monitor);
    }
    case Study::kProtocol: {
      const std::string names = options.names.empty() ? options.data + "/names.txt" : options.names;
      return EvaluateProtocol(data, models[0], options.protocol, names,
                              Filled<ProtocolOptions>(options), monitor);
    }
    case Study::kGallery:
      return EvaluateGallery(data, models[0], *distractors, strangers ? &*strangers : nullptr,
                             Filled<GalleryOptions>(options), monitor);
    default:
      break;
  }
  if (options.folds > 0) return EvaluateFolds(data, sets, Filled<FoldOptions>(options), monitor);
  return Evaluate(data, models[0], Filled<EvaluationOptions>(options), monitor);
}

}  // namespace

std::string StudyName(Study study) {
  switch (study) {
    case Study::kChoices:
      return "choices";
    case Study::kSearches:
      return "searches";
    case Study::kProtection:
      return "protection";
    case Study::kSamples:
      return "samples";
    case Study::kProtocol:
      return "protocol";
    case Study::kGallery:
      return "gallery";
    case Study::kEvaluation:
      break;
  }
  return "evaluation";
}

absl::Status CheckStudy(const StudyOptions& options) {
  HEFT_RETURN_IF_ERROR(CheckUses(options));
  const std::string wrong = WrongInputs(options);
  if (wrong.empty()) return absl::OkStatus();
  return options.study == Study::kEvaluation ? absl::InvalidArgumentError(wrong)
                                             : Wrong(options, wrong);
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
  if (options.study == Study::kGallery) {
    HEFT_ASSIGN_OR_RETURN(study.distractors, TrainingData::Load(options.distractors));
  }
  if (options.study == Study::kGallery && !options.strangers.empty()) {
    HEFT_ASSIGN_OR_RETURN(study.strangers, TrainingData::Load(options.strangers));
  }
  return study;
}

absl::StatusOr<Report> RunStudy(const LoadedStudy& study, const Monitor& monitor) {
  const StudyOptions& options = study.options;
  HEFT_RETURN_IF_ERROR(CheckStudy(options));
  if (options.study != Study::kChoices &&
      (study.models.empty() || study.models[0].models.empty())) {
    return absl::InvalidArgumentError("a study without models: load it with LoadStudy");
  }
  const bool protocol = options.study == Study::kProtocol;
  const bool gallery = options.study == Study::kGallery;
  if (gallery && !study.distractors) {
    return absl::InvalidArgumentError("a gallery without distractors: load it with LoadStudy");
  }
  HEFT_ASSIGN_OR_RETURN(Report report, Measure(study, monitor));
  if (options.folds == 0 && options.study != Study::kSearches && !protocol && !gallery) {
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
