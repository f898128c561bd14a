// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
#include "learning/train_internal.h"

namespace heft {
namespace {

absl::Status CheckRange(const char* name, double value, double lo, double hi) {
  if (value >= lo && value <= hi) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("training option ", name, " is ", value,
                                                 ", choose a value from ", lo, " to ", hi));
}

}  // namespace

std::string RecipeName(Recipe recipe) {
  return recipe == Recipe::kGeneralising ? "generalising" : "paper";
}

absl::StatusOr<Recipe> ParseRecipe(std::string_view name) {
  if (name == "generalising") return Recipe::kGeneralising;
  if (name == "paper") return Recipe::kPaper;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown recipe '", std::string(name), "': choose generalising or paper"));
}

std::string MethodName(Method method) {
  return method == Method::kLearned ? "learned" : method == Method::kPca ? "pca" : "none";
}

absl::StatusOr<Method> ParseMethod(std::string_view name) {
  for (Method method : {Method::kLearned, Method::kPca, Method::kNone}) {
    if (name == MethodName(method)) return method;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown method '", std::string(name), "': choose learned, pca or none"));
}

absl::Status CheckTrainOptions(const TrainOptions& options, const Dataset& dataset) {
  const int total = dataset.TotalDimension();
  if (options.method == Method::kNone ? options.gamma < total
                                      : options.gamma < 1 || options.gamma > total) {
    return absl::InvalidArgumentError(absl::StrCat(
        "gamma is ", options.gamma, ", the data have ", total, " dimensions in all: choose ",
        options.method == Method::kNone ? "as many or more, or method pca"
                                        : absl::StrCat("1 to ", total, ", usually 64 or 128")));
  }
  if (options.recipe == Recipe::kPaper && options.method != Method::kLearned) {
    return absl::InvalidArgumentError("the paper's recipe has only the method learned");
  }
  if (options.metric == Metric::kEuclidean && options.fhe_aware) {
    return absl::InvalidArgumentError(
        "the Euclidean metric has no normalisation: train it with fhe_aware false");
  }
  HEFT_RETURN_IF_ERROR(CheckRange("degree", options.degree, 1, kMaxFitDegree));
  HEFT_RETURN_IF_ERROR(CheckRange("lambda", options.lambda, 0, 1));
  HEFT_RETURN_IF_ERROR(CheckRange("margin", options.margin, 0, 2));
  HEFT_RETURN_IF_ERROR(CheckRange("epochs", options.epochs, 0, 1e6));
  HEFT_RETURN_IF_ERROR(CheckRange("patience", options.patience, 0, 1e6));
  HEFT_RETURN_IF_ERROR(CheckRange("learning_rate", options.learning_rate, 0, 10));
  HEFT_RETURN_IF_ERROR(CheckRange("weight_decay", options.weight_decay, 0, 1));
  HEFT_RETURN_IF_ERROR(CheckRange("shrinkage", options.shrinkage, -1, 1));
  if (!options.shrinkages.empty() && options.shrinkages.size() != dataset.modalities.size()) {
    return absl::InvalidArgumentError("give one shrinkage, or one a modality");
  }
  for (double shrinkage : options.shrinkages) {
    HEFT_RETURN_IF_ERROR(CheckRange("shrinkages", shrinkage, 0, 1));
  }
  HEFT_RETURN_IF_ERROR(CheckRange("whitening", options.whitening, -1, 1));
  HEFT_RETURN_IF_ERROR(CheckRange("blend", options.blend, -1, 1));
  HEFT_RETURN_IF_ERROR(CheckRange("drop_modality", options.drop_modality, 0, 0.9));
  if (!options.modality_weights.empty()) {
    if (options.recipe == Recipe::kPaper) {
      return absl::InvalidArgumentError("the paper's recipe has no modality weights");
    }
    if (options.modality_weights.size() != dataset.modalities.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.modality_weights.size(), " modality weights given, the data have ",
                       dataset.modalities.size(), " modalities: give one each"));
    }
    for (double weight : options.modality_weights) {
      HEFT_RETURN_IF_ERROR(CheckRange("modality_weights", weight, 1e-3, 1e3));
    }
  }
  HEFT_RETURN_IF_ERROR(CheckRange("max_batch", options.max_batch, 8, 1 << 20));
  return CheckRange("interval_margin", options.interval_margin, 1, 10);
}

namespace internal {

Json OptionsToJson(const TrainOptions& options) {
  return {{"gamma", options.gamma},
          {"recipe", RecipeName(options.recipe)},
          {"method", MethodName(options.method)},
          {"fhe_aware", options.fhe_aware},
          {"metric", MetricName(options.metric)},
          {"degree", options.degree},
          {"fit", FitKindName(options.fit)},
          {"lambda", options.lambda},
          {"margin", options.margin},
          {"grid_search", options.grid_search},
          {"epochs", options.epochs},
          {"patience", options.patience},
          {"learning_rate", options.learning_rate},
          {"weight_decay", options.weight_decay},
          {"shrinkage", options.shrinkage},
          {"shrinkages", options.shrinkages},
          {"blend", options.blend},
          {"whitening", options.whitening},
          {"drop_modality", options.drop_modality},
          {"modality_weights", options.modality_weights},
          {"max_batch", options.max_batch},
          {"interval_margin", options.interval_margin},
          {"seed", options.seed}};
}

}  // namespace internal

}  // namespace heft
