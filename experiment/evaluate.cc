// SPDX-License-Identifier: Apache-2.0
#include "heft/evaluate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/inside.h"
#include "evaluation/folds.h"
#include "experiment/cross_validation.h"
#include "experiment/evaluation.h"
#include "experiment/figure.h"
#include "experiment/gallery_search.h"
#include "experiment/protocol_run.h"
#include "experiment/reports.h"
#include "experiment/search_study.h"
#include "experiment/systems.h"
#include "features/dataset.h"
#include "heft/files.h"
#include "learning/projection.h"
#include "learning/trained_model.h"

namespace heft {
namespace {

using experiment::Plots;

// The pictures that were drawn, as files.
std::vector<std::pair<std::string, std::string>> Files(const Plots& plots) {
  constexpr std::pair<const char*, std::string Plots::*> kPictures[] = {
      {"roc.svg", &Plots::roc},
      {"approximation.svg", &Plots::approximation},
      {"relative_error.svg", &Plots::relative_error},
      {"score_error.svg", &Plots::score_error},
      {"norms.svg", &Plots::norms},
      {"gamma.svg", &Plots::gamma}};
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, picture] : kPictures) {
    if (!(plots.*picture).empty()) files.emplace_back(name, experiment::SvgFile(plots.*picture));
  }
  for (size_t k = 0; k < plots.judgement.size(); ++k) {
    files.emplace_back(plots.judgement_files[k], experiment::SvgFile(plots.judgement[k].svg));
  }
  return files;
}

absl::StatusOr<Report> ReportOf(const absl::StatusOr<experiment::CrossValidation>& found,
                                const Dataset& dataset, const FoldOptions& options) {
  HEFT_RETURN_IF_ERROR(found.status());
  Report report{experiment::ToJson(*found), experiment::ToText(*found)};
  report.scores = found->scores;
  report.warnings = found->fusion.Losses();
  for (const experiment::FoldJudgement& judged : found->judgements) {
    for (std::string& broken : experiment::BrokenPromises(judged.judgement)) {
      report.warnings.push_back(std::move(broken));
    }
  }
  if (options.page) {
    HEFT_ASSIGN_OR_RETURN(report.page,
                          experiment::MakeFoldReport(*found, experiment::FolderName(dataset.folder),
                                                     experiment::DescribeData(dataset.folder),
                                                     options.command, &report.pictures));
  }
  return report;
}

}  // namespace

absl::Status CheckDrawing() { return experiment::CheckGnuplot(); }

absl::StatusOr<Report> Evaluate(const TrainingData& data, const Model& model,
                                const EvaluationOptions& options, const Monitor& monitor) {
  const bool everybody = options.split == "all";
  HEFT_ASSIGN_OR_RETURN(const Split split, ParseSplit(everybody ? "test" : options.split));
  if (options.page || options.pictures) HEFT_RETURN_IF_ERROR(CheckDrawing());
  HEFT_ASSIGN_OR_RETURN(
      const experiment::Evaluation found,
      experiment::Evaluate(monitor, Inside::Of(data).dataset, model,
                           {split, everybody, options.seed, options.replicates, options.scores}));
  Report report{experiment::ToJson(found), experiment::ToText(found)};
  report.scores = found.table;
  report.warnings = found.warnings;
  for (std::string& loss : found.fusion.Losses()) report.warnings.push_back(std::move(loss));
  for (std::string& broken : experiment::BrokenPromises(found.judgement)) {
    report.warnings.push_back(std::move(broken));
  }
  if (!options.page && !options.pictures) return report;
  HEFT_ASSIGN_OR_RETURN(const Plots plots, experiment::DrawPlots(found));
  if (options.page) report.page = experiment::MakeReport(found, plots, options.command);
  if (options.pictures) report.pictures = Files(plots);
  return report;
}

absl::StatusOr<Report> EvaluateFolds(const TrainingData& data, std::span<const FoldModels> models,
                                     const FoldOptions& options, const Monitor& monitor) {
  if (options.page) HEFT_RETURN_IF_ERROR(CheckDrawing());
  const Dataset& dataset = Inside::Of(data).dataset;
  std::vector<experiment::FoldModels> sets;
  for (const FoldModels& set : models) {
    for (const experiment::FoldModels& other : sets) {
      if (other.id == set.name) {
        return absl::InvalidArgumentError(absl::StrCat("two sets of models are called \"", set.name,
                                                       "\": give them different names"));
      }
    }
    sets.push_back({set.name, set.name, experiment::FoldModels::Rows::kAll, set.models});
  }
  return ReportOf(experiment::CrossValidate(monitor, dataset, sets, options), dataset, options);
}

namespace {

// z of the people of a split, as the model makes them.
absl::StatusOr<experiment::PeopleOf> PeopleOfSplit(const Dataset& dataset, Split split,
                                                   const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const Dataset selected, SelectModalities(dataset, model, "the data set"));
  const std::vector<int> rows = RowsOf(selected.split, split);
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(selected, rows));
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back(selected.labels[static_cast<size_t>(row)]);
  return experiment::PeopleOf{ProjectAll(ProjectionOf(model), features), IdentityNumbers(labels)};
}

}  // namespace

absl::StatusOr<Report> EvaluateSearches(const TrainingData& data, std::span<const Model> models,
                                        const SearchStudyOptions& options, const Monitor& monitor) {
  if (options.page) HEFT_RETURN_IF_ERROR(CheckDrawing());
  const Dataset& dataset = Inside::Of(data).dataset;
  HEFT_ASSIGN_OR_RETURN(const Split split, ParseSplit(options.split));
  std::vector<experiment::PeopleOf> sets;
  for (const Model& model : models) {
    const std::optional<FoldNumber> fold = FoldOf(model);
    if (!fold) {
      HEFT_ASSIGN_OR_RETURN(sets.emplace_back(), PeopleOfSplit(dataset, split, model));
      continue;
    }
    HEFT_RETURN_IF_ERROR(ForEachFold(
        dataset, fold->folds, fold->seed, [&](int number, const Dataset& part) -> absl::Status {
          if (number != fold->fold) return absl::OkStatus();
          HEFT_ASSIGN_OR_RETURN(sets.emplace_back(), PeopleOfSplit(part, Split::kTest, model));
          return absl::OkStatus();
        }));
  }
  HEFT_ASSIGN_OR_RETURN(const experiment::SearchStudy study,
                        experiment::StudySearches(monitor, sets, options));
  Report report{experiment::ToJson(study), experiment::ToText(study)};
  if (!options.page) return report;
  std::string picture;
  HEFT_ASSIGN_OR_RETURN(
      report.page, experiment::MakeStudyReport(study, experiment::FolderName(dataset.folder),
                                               experiment::DescribeData(dataset.folder), &picture));
  report.pictures = {{"galleries.svg", experiment::SvgFile(picture)}};
  return report;
}

absl::StatusOr<Report> EvaluateGallery(const TrainingData& data, const Model& model,
                                       const TrainingData& distractors,
                                       const TrainingData* strangers, const GalleryOptions& options,
                                       const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(
      const experiment::GallerySearch found,
      experiment::SearchLargeGallery(
          monitor, Inside::Of(data).dataset, model, Inside::Of(distractors).dataset,
          strangers == nullptr ? nullptr : &Inside::Of(*strangers).dataset, options));
  Report report{experiment::ToJson(found), experiment::ToText(found)};
  report.warnings = experiment::GalleryWarnings(found);
  if (options.page) report.page = experiment::MakeGalleryReport(found);
  return report;
}

absl::StatusOr<Report> EvaluateProtocol(const TrainingData& data, const Model& model,
                                        const std::string& folder, const std::string& names,
                                        const ProtocolOptions& options, const Monitor& monitor) {
  if (options.page) HEFT_RETURN_IF_ERROR(CheckDrawing());
  HEFT_ASSIGN_OR_RETURN(const Dataset dataset,
                        SelectModalities(Inside::Of(data).dataset, model, "the data set"));
  HEFT_ASSIGN_OR_RETURN(const experiment::RowNames rows,
                        experiment::ReadRowNames(names, dataset.Rows()));
  HEFT_ASSIGN_OR_RETURN(const experiment::Protocol protocol,
                        experiment::ReadProtocol(folder, rows));
  HEFT_ASSIGN_OR_RETURN(const experiment::ProtocolResult found,
                        experiment::RunProtocol(monitor, dataset, model, protocol, options));
  Report report{experiment::ToJson(found), experiment::ToText(found)};
  report.scores = found.scores;
  report.warnings = found.warnings;
  for (const experiment::GroupResult& group : found.groups) {
    for (const std::string& broken : experiment::BrokenPromises(group.by_model)) {
      report.warnings.push_back(absl::StrCat(group.name, ": ", broken));
    }
  }
  if (!options.page) return report;
  HEFT_ASSIGN_OR_RETURN(
      report.page, experiment::MakeProtocolReport(found, experiment::FolderName(dataset.folder)));
  return report;
}

absl::StatusOr<Report> CompareChoices(const TrainingData& data, const FoldOptions& options,
                                      const Monitor& monitor) {
  if (options.page) HEFT_RETURN_IF_ERROR(CheckDrawing());
  const Dataset& dataset = Inside::Of(data).dataset;
  return ReportOf(experiment::CompareChoices(monitor, dataset, options), dataset, options);
}

uint64_t SplitSeed(const Model& model) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  const Json& seed = std::as_const(summary)["options"]["seed"];
  return seed.is_number_unsigned() ? seed.get<uint64_t>() : 1;
}

std::string FoldFile(const std::string& folder, int fold) {
  return absl::StrCat(folder, "/fold-", fold + 1, ".heft");
}

absl::StatusOr<std::vector<Model>> LoadFolds(const std::string& folder, const TrainingData& data,
                                             int folds, uint64_t fold_seed) {
  std::vector<Model> models;
  for (int fold = 0; fold < folds; ++fold) {
    const std::string file = FoldFile(folder, fold);
    HEFT_ASSIGN_OR_RETURN(Model model, LoadModel(file));
    if (FoldOf(model) != FoldNumber{folds, fold_seed, fold, Inside::Of(data).dataset.Rows()}) {
      return absl::FailedPreconditionError(absl::StrCat(
          file, ": not trained in fold ", fold + 1, " of ", folds, " (fold seed ", fold_seed,
          ") of these data, so it may have been trained on the people of the test. Make it with "
          "heft train --folds ",
          folds));
    }
    models.push_back(std::move(model));
  }
  return models;
}

absl::Status SaveFolds(const std::string& folder, std::span<const Model> models) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  for (size_t fold = 0; fold < models.size(); ++fold) {
    HEFT_RETURN_IF_ERROR(
        WriteFile(FoldFile(folder, static_cast<int>(fold)), models[fold].Serialize()));
  }
  return absl::OkStatus();
}

}  // namespace heft
