// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/threads.h"
#include "experiment/cross_validation.h"
#include "learning/train.h"
#include "learning/trained_model.h"

namespace heft::experiment {
namespace {

constexpr int kDefaultGamma = 32, kDefaultDegree = 3;

struct Choice {
  std::string id, label;
  FoldModels::Rows rows;
  TrainOptions train;
};

TrainOptions Base(int gamma, int degree) {
  TrainOptions train;
  train.gamma = gamma;
  train.degree = degree;
  return train;
}

std::vector<Choice> Choices(const Dataset& dataset) {
  std::vector<Choice> choices;
  for (int gamma : {16, kDefaultGamma, 64}) {
    if (gamma > dataset.TotalDimension()) continue;
    for (int degree : {2, kDefaultDegree, 7}) {
      choices.push_back({absl::StrCat("gamma", gamma, "_degree", degree),
                         absl::StrCat("gamma ", gamma, ", degree ", degree),
                         FoldModels::Rows::kChoice, Base(gamma, degree)});
    }
    choices.push_back({absl::StrCat("gamma", gamma, "_deferred"),
                       absl::StrCat("gamma ", gamma, ", deferred exact"), FoldModels::Rows::kExact,
                       Base(gamma, kDefaultDegree)});
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
  for (size_t m = 0; m < weights.size(); ++m) {
    for (int i = 0; i < dataset.Dimensions()[m]; ++i, ++column) {
      form.projection(column, column) = weights[m];
    }
  }
  return AssembleModel(dataset, form);
}

// Trains all choices in every fold, each on one thread: whole trainings side by side wait for each
// other less than the parts of one do.
absl::StatusOr<std::vector<FoldModels>> TrainChoices(const Monitor& monitor, const Dataset& dataset,
                                                     const FoldOptions& options,
                                                     const std::vector<Choice>& choices) {
  std::vector<FoldModels> sets;
  for (const Choice& choice : choices) sets.push_back({choice.id, choice.label, choice.rows, {}});
  Progress progress(monitor, "training choices");
  std::mutex mutex;  // of progress
  size_t done = 0;
  TrainHooks hooks;
  hooks.save = [&](const TrainCheckpoint&) { return CheckNotStopped(monitor); };
  HEFT_RETURN_IF_ERROR(
      ForEachFold(dataset, options.folds, options.fold_seed,
                  [&](int fold, const Dataset& data) -> absl::Status {
                    std::vector<absl::StatusOr<TrainResult>> results(choices.size());
                    ParallelFor(choices.size(), [&](size_t i) {
                      results[i] = absl::CancelledError("interrupted");
                      if (Stopped(monitor)) return;
                      results[i] = Train(data, choices[i].train, hooks);
                      std::lock_guard<std::mutex> lock(mutex);
                      progress.Update(++done, options.folds * choices.size(),
                                      absl::StrCat("fold ", fold + 1, ", ", choices[i].label));
                    });
                    for (size_t i = 0; i < choices.size(); ++i) {
                      HEFT_RETURN_IF_ERROR(results[i].status());
                      sets[i].models.push_back(AssembleModel(data, *results[i]));
                    }
                    return absl::OkStatus();
                  }));
  return sets;
}

}  // namespace

absl::StatusOr<CrossValidation> CompareChoices(const Monitor& monitor, const Dataset& dataset,
                                               const FoldOptions& options) {
  std::vector<Choice> choices = Choices(dataset);
  if (choices.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the data have ", dataset.TotalDimension(),
                     " dimensions in all, but choices need 16 or more"));
  }
  std::vector<FoldModels> concatenations;
  const std::string last = dataset.modalities.back().name;
  if (dataset.modalities.size() > 1 && dataset.TotalDimension() >= kDefaultGamma) {
    for (double weight : {0.5, 0.7, 1.0, 1.4, 2.0}) {
      const std::vector<double> weights = Weights(dataset, weight);
      Choice choice{absl::StrFormat("weight%g", weight),
                    absl::StrFormat("gamma %d, degree %d, %s weighs %g at the start", kDefaultGamma,
                                    kDefaultDegree, last, weight),
                    FoldModels::Rows::kPlain, Base(kDefaultGamma, kDefaultDegree)};
      choice.train.modality_weights = weights;
      choices.push_back(std::move(choice));
      concatenations.push_back(
          {absl::StrFormat("concatenation%g", weight),
           absl::StrFormat("concatenation, %s weighs %g", last, weight), FoldModels::Rows::kExact,
           std::vector<Model>(options.folds, WeightedConcatenation(dataset, weights))});
    }
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<FoldModels> sets,
                        TrainChoices(monitor, dataset, options, choices));
  sets.insert(sets.end(), concatenations.begin(), concatenations.end());
  HEFT_ASSIGN_OR_RETURN(
      CrossValidation result,
      CrossValidate(monitor, dataset, sets, options,
                    absl::StrCat("gamma", kDefaultGamma, "_degree", kDefaultDegree)));
  for (const FoldRow& row : result.table.rows) {
    if (row.system.encrypted || row.system.id.rfind("gamma", 0) != 0) continue;
    const bool deferred = row.system.id.find("deferred") != std::string::npos;
    result.notes.push_back(
        absl::StrCat(row.system.label, ": computed without encryption. ",
                     deferred ? "Deferred normalisation divides by the exact norm after decryption."
                     : options.encrypted ? "The engine's profile cannot evaluate this degree."
                                         : "No encrypted rows were requested."));
  }
  return result;
}

}  // namespace heft::experiment
