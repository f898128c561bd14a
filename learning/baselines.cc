// SPDX-License-Identifier: Apache-2.0
#include "learning/baselines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "learning/discriminant.h"

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

// Mean and standard deviation of impostor scores.
std::pair<double, double> ImpostorMoments(const ScoreSet& scores) {
  double mean = 0, square = 0;
  for (double s : scores.impostor) mean += s / scores.impostor.size();
  for (double s : scores.impostor) square += (s - mean) * (s - mean) / scores.impostor.size();
  return {mean, std::sqrt(std::max(square, 1e-24))};
}

absl::StatusOr<FeatureMatrix> ScoreSum(const Dataset& dataset, const SplitFeatures& test,
                                       const SplitFeatures& train) {
  FeatureMatrix sum = FeatureMatrix::Zero(test.features.rows(), test.features.rows());
  Eigen::Index column = 0;
  for (int width : dataset.Dimensions()) {
    const FeatureMatrix train_scores = CosineScores(train.features.middleCols(column, width));
    HEFT_ASSIGN_OR_RETURN(const ScoreSet pairs, PairScores(train_scores, train.identities));
    const auto [mean, deviation] = ImpostorMoments(pairs);
    const FeatureMatrix scores = CosineScores(test.features.middleCols(column, width));
    sum.array() += (scores.array() - mean) / deviation;
    column += width;
  }
  return sum;
}

}  // namespace

absl::StatusOr<std::vector<Baseline>> ScoreBaselines(const Dataset& dataset, Split split, int gamma,
                                                     double shrinkage) {
  if (gamma < 1) return absl::InvalidArgumentError(absl::StrCat("gamma is ", gamma));
  HEFT_ASSIGN_OR_RETURN(const SplitFeatures test, Take(dataset, split));
  HEFT_ASSIGN_OR_RETURN(const SplitFeatures train, Take(dataset, Split::kTrain));
  const std::vector<int> dimensions = dataset.Dimensions();
  const int total = dataset.TotalDimension();
  std::vector<Baseline> baselines;
  auto add = [&](const std::string& name, int dimension, FeatureMatrix scores) {
    baselines.push_back({name, dimension, {std::move(scores), test.identities}});
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
    HEFT_ASSIGN_OR_RETURN(FeatureMatrix sum, ScoreSum(dataset, test, train));
    add("score_sum", total, std::move(sum));
  }
  const FeatureMatrix pca = Pca(train.features, gamma);
  add("pca", pca.rows(), UnitScores(ProjectAll(pca, test.features)));
  DiscriminantOptions options;
  options.shrinkage = shrinkage;
  HEFT_ASSIGN_OR_RETURN(const Discriminants lda,
                        Lda(train.features, train.identities, gamma, options));
  add("lda", lda.vectors.rows(), UnitScores(ProjectAll(lda.vectors, test.features)));
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

absl::StatusOr<LabelledScores> SumOfScores(const Dataset& dataset, Split split) {
  HEFT_ASSIGN_OR_RETURN(SplitFeatures test, Take(dataset, split));
  HEFT_ASSIGN_OR_RETURN(const SplitFeatures train, Take(dataset, Split::kTrain));
  HEFT_ASSIGN_OR_RETURN(FeatureMatrix sum, ScoreSum(dataset, test, train));
  return LabelledScores{std::move(sum), std::move(test.identities)};
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
