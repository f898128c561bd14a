// SPDX-License-Identifier: Apache-2.0
#include "learning/baselines.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "learning/discriminant.h"
#include "learning/score_weights.h"

namespace heft {
namespace {

// One split of a data set: unit-length features side by side and identities.
struct SplitFeatures {
  FeatureMatrix features;
  std::vector<int> identities;
};

absl::StatusOr<SplitFeatures> Take(const Dataset& dataset, Split split) {
  const std::vector<int> rows = RowsOf(dataset.split, split);
  SplitFeatures taken;
  HEFT_ASSIGN_OR_RETURN(taken.features, Concatenate(dataset, rows));
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back(dataset.labels[row]);
  taken.identities = IdentityNumbers(labels);
  return taken;
}

FeatureMatrix UnitScores(FeatureMatrix features) {
  features.rowwise().normalize();  // A zero row stays zero.
  return CosineScores(features);
}

FeatureMatrix WeightedSum(const Dataset& dataset, const FeatureMatrix& features,
                          const std::vector<double>& weights) {
  FeatureMatrix sum = FeatureMatrix::Zero(features.rows(), features.rows());
  Eigen::Index column = 0;
  size_t m = 0;
  for (int width : dataset.Dimensions()) {
    sum += weights[m++] * CosineScores(features.middleCols(column, width));
    column += width;
  }
  return sum;
}

// Adds pca and lda, or why they are not there.
absl::Status AddProjections(const Dataset& dataset, const SplitFeatures& test, int gamma,
                            double shrinkage, std::vector<Baseline>* baselines) {
  if (RowsOf(dataset.split, Split::kTrain).empty()) {
    for (const char* name : {"pca", "lda"}) {
      baselines->push_back({name, gamma, {}, "no training people", ""});
    }
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(const SplitFeatures train, Take(dataset, Split::kTrain));
  const auto add = [&](const char* name, const FeatureMatrix& projection) {
    baselines->push_back({name,
                          static_cast<int>(projection.rows()),
                          {UnitScores(ProjectAll(projection, test.features)), test.identities},
                          "",
                          ""});
  };
  add("pca", Pca(train.features, gamma));
  DiscriminantOptions options;
  options.shrinkage = shrinkage;
  const absl::StatusOr<Discriminants> lda = Lda(train.features, train.identities, gamma, options);
  if (lda.ok()) {
    add("lda", lda->vectors);
  } else {
    baselines->push_back({"lda", gamma, {}, std::string(lda.status().message()), ""});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Baseline>> ScoreBaselines(const Dataset& dataset, Split split, int gamma,
                                                     double shrinkage) {
  if (gamma < 1) return absl::InvalidArgumentError(absl::StrCat("gamma is ", gamma));
  HEFT_ASSIGN_OR_RETURN(const SplitFeatures test, Take(dataset, split));
  if (test.identities.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("split \"", SplitName(split), "\" has no samples"));
  }
  const std::vector<int> dimensions = dataset.Dimensions();
  const int total = dataset.TotalDimension();
  std::vector<Baseline> baselines;
  auto add = [&](const std::string& name, int dimension, FeatureMatrix scores) {
    baselines.push_back({name, dimension, {std::move(scores), test.identities}, "", ""});
  };

  FeatureMatrix average = FeatureMatrix::Zero(test.features.rows(), dimensions[0]);
  bool equal = true;
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < dimensions.size(); ++m) {
    const FeatureMatrix own = test.features.middleCols(column, dimensions[m]);
    equal = equal && dimensions[m] == dimensions[0];
    if (equal) average += own;
    add(dataset.modalities[m].name, dimensions[m], CosineScores(own));
    column += dimensions[m];
  }
  if (dimensions.size() > 1) {
    if (equal) add("average", dimensions[0], UnitScores(average));
    add("concatenation", total, UnitScores(test.features));
    HEFT_ASSIGN_OR_RETURN(const ScoreWeights fit, FitScoreWeights(dataset));
    add("score_sum", total, WeightedSum(dataset, test.features, fit.weights));
    if (!fit.equal_because.empty()) {
      baselines.back().note = absl::StrCat("equal weights: ", fit.equal_because);
    }
  }
  HEFT_RETURN_IF_ERROR(AddProjections(dataset, test, gamma, shrinkage, &baselines));
  return baselines;
}

absl::StatusOr<LabelledScores> ModalityScores(const Dataset& dataset, Split split,
                                              std::size_t modality) {
  HEFT_ASSIGN_OR_RETURN(SplitFeatures taken, Take(dataset, split));
  const std::vector<int> dimensions = dataset.Dimensions();
  const Eigen::Index first = std::accumulate(
      dimensions.begin(), dimensions.begin() + static_cast<std::ptrdiff_t>(modality), 0);
  return LabelledScores{CosineScores(taken.features.middleCols(first, dimensions[modality])),
                        std::move(taken.identities)};
}

absl::StatusOr<LabelledScores> ConcatenationScores(const Dataset& dataset, Split split) {
  HEFT_ASSIGN_OR_RETURN(SplitFeatures taken, Take(dataset, split));
  return LabelledScores{UnitScores(std::move(taken.features)), std::move(taken.identities)};
}

absl::StatusOr<LabelledScores> SumOfScores(const Dataset& dataset, Split split) {
  HEFT_ASSIGN_OR_RETURN(SplitFeatures taken, Take(dataset, split));
  HEFT_ASSIGN_OR_RETURN(const ScoreWeights fit, FitScoreWeights(dataset));
  return LabelledScores{WeightedSum(dataset, taken.features, fit.weights),
                        std::move(taken.identities)};
}

absl::StatusOr<LabelledScores> LearnedScores(const Dataset& dataset, Split split,
                                             const FeatureMatrix& projection,
                                             const Normaliser& normaliser, int* outside) {
  return PartialProbeScores(dataset, split, projection, normaliser, {}, outside);
}

absl::StatusOr<LabelledScores> PartialProbeScores(const Dataset& dataset, Split split,
                                                  const FeatureMatrix& projection,
                                                  const Normaliser& normaliser,
                                                  std::span<const int> missing, int* outside,
                                                  const Normaliser* of_templates) {
  if (projection.cols() != dataset.TotalDimension()) {
    return absl::InvalidArgumentError(absl::StrCat("the projection takes ", projection.cols(),
                                                   " dimensions, the data have ",
                                                   dataset.TotalDimension()));
  }
  HEFT_ASSIGN_OR_RETURN(SplitFeatures taken, Take(dataset, split));
  const bool alike = of_templates == nullptr;
  const FeatureMatrix templates = ProjectAndNormalise(
      projection, taken.features, alike ? normaliser : *of_templates, alike ? nullptr : outside);
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix partial,
                        Concatenate(dataset, RowsOf(dataset.split, split), missing));
  const FeatureMatrix probes =
      ProjectAndNormalise(projection, partial, normaliser, alike ? outside : nullptr);
  return LabelledScores{ProjectAll(templates, probes), std::move(taken.identities)};
}

}  // namespace heft
