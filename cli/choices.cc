// SPDX-License-Identifier: Apache-2.0
#include "cli/choices.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/training.h"

namespace heft::cli {
namespace {

constexpr int kDefaultGamma = 32, kDefaultDegree = 3;

struct Choice {
  std::string id, label;
  FoldModels::Rows rows;
  TrainOptions train;
};

TrainOptions Base(const ChoiceOptions& options, int gamma, int degree) {
  TrainOptions train;
  train.seed = options.seed;
  train.gamma = gamma;
  train.degree = degree;
  return train;
}

std::vector<Choice> Choices(const Dataset& dataset, const ChoiceOptions& options) {
  std::vector<Choice> choices;
  for (int gamma : {16, kDefaultGamma, 64}) {
    if (gamma > dataset.TotalDimension()) continue;
    for (int degree : {2, kDefaultDegree, 7}) {
      choices.push_back({absl::StrCat("gamma", gamma, "_degree", degree),
                         absl::StrCat("gamma ", gamma, ", degree ", degree),
                         FoldModels::Rows::kChoice, Base(options, gamma, degree)});
    }
    choices.push_back({absl::StrCat("gamma", gamma, "_deferred"),
                       absl::StrCat("gamma ", gamma, ", deferred exact"), FoldModels::Rows::kExact,
                       Base(options, gamma, kDefaultDegree)});
    choices.back().train.fhe_aware = false;
  }
  return choices;
}

// The modalities' weights of a row: all 1 but the last one's.
std::vector<double> Weights(const Dataset& dataset, double last) {
  std::vector<double> weights(dataset.modalities.size(), 1.0);
  weights.back() = last;
  return weights;
}

// Concatenation with weights, as a projection that projects nothing away.
Model WeightedConcatenation(const Dataset& dataset, const std::vector<double>& weights) {
  TrainResult form;
  form.projection = FeatureMatrix::Zero(dataset.TotalDimension(), dataset.TotalDimension());
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < weights.size(); ++m) {
    for (int i = 0; i < dataset.Dimensions()[m]; ++i, ++column) {
      form.projection(column, column) = weights[m];
    }
  }
  return AssembleModel(dataset, "compact", form, nullptr);
}

absl::StatusOr<std::vector<FoldModels>> TrainChoices(const Common& common, const Dataset& dataset,
                                                     const ChoiceOptions& options,
                                                     const std::vector<Choice>& choices) {
  std::vector<FoldModels> sets;
  for (const Choice& choice : choices) sets.push_back({choice.id, choice.label, choice.rows, {}});
  const CrossValidationOptions& v = options.validation;
  HEFT_RETURN_IF_ERROR(ForEachFold(
      dataset, v.folds, v.fold_seed, [&](int fold, const Dataset& data) -> absl::Status {
        for (std::size_t i = 0; i < choices.size(); ++i) {
          const std::string name =
              absl::StrCat("fold ", fold + 1, " of ", v.folds, ", ", choices[i].label);
          HEFT_ASSIGN_OR_RETURN(const TrainResult result,
                                TrainWithProgress(common, data, choices[i].train, name));
          sets[i].models.push_back(AssembleModel(data, options.profile, result, nullptr));
        }
        return absl::OkStatus();
      }));
  return sets;
}

}  // namespace

absl::StatusOr<CrossValidation> CompareChoices(const Common& common, const Dataset& dataset,
                                               const ChoiceOptions& options) {
  std::vector<Choice> choices = Choices(dataset, options);
  if (choices.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the data have ", dataset.TotalDimension(),
                                                   " dimensions in all, choices need 16 or more"));
  }
  std::vector<FoldModels> concatenations;
  const std::string last = dataset.modalities.back().name;
  if (dataset.modalities.size() > 1 && dataset.TotalDimension() >= kDefaultGamma) {
    for (double weight : {0.5, 0.7, 1.0, 1.4, 2.0}) {
      const std::vector<double> weights = Weights(dataset, weight);
      Choice choice{absl::StrFormat("weight%g", weight),
                    absl::StrFormat("gamma %d, degree %d, %s weighs %g at the start", kDefaultGamma,
                                    kDefaultDegree, last, weight),
                    FoldModels::Rows::kChoice, Base(options, kDefaultGamma, kDefaultDegree)};
      choice.train.modality_weights = weights;
      choices.push_back(std::move(choice));
      concatenations.push_back(
          {absl::StrFormat("concatenation%g", weight),
           absl::StrFormat("concatenation, %s weighs %g", last, weight), FoldModels::Rows::kExact,
           std::vector<Model>(options.validation.folds, WeightedConcatenation(dataset, weights))});
    }
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<FoldModels> sets,
                        TrainChoices(common, dataset, options, choices));
  sets.insert(sets.end(), concatenations.begin(), concatenations.end());
  CrossValidationOptions validation = options.validation;
  validation.reference = absl::StrCat("gamma", kDefaultGamma, "_degree", kDefaultDegree);
  HEFT_ASSIGN_OR_RETURN(CrossValidation result, CrossValidate(common, dataset, sets, validation));
  for (const FoldRow& row : result.table.rows) {
    if (row.system.encrypted || row.system.id.rfind("gamma", 0) != 0) continue;
    result.notes.push_back(
        absl::StrCat(row.system.label, ": computed in plain. ",
                     row.system.id.find("deferred") != std::string::npos
                         ? "Deferred normalisation divides by the exact norm after decryption."
                         : "The engine's profile cannot evaluate this degree."));
  }
  return result;
}

}  // namespace heft::cli
