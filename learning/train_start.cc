// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "evaluation/metrics.h"
#include "learning/discriminant.h"
#include "learning/train_internal.h"

namespace heft::internal {
namespace {

// Size of a filled-up row against that of a discriminant.
constexpr double kFillWeight = 0.1;

// Multiplies the columns of each modality by its weight.
FeatureMatrix Weighted(const FeatureMatrix& projection, const SamplePool& pool,
                       const std::vector<double>& weights) {
  FeatureMatrix result = projection;
  Eigen::Index column = 0;
  for (std::size_t m = 0; m < weights.size(); ++m) {
    const Eigen::Index width = pool.modalities()[m].features.cols();
    result.middleCols(column, width) *= weights[m];
    column += width;
  }
  return result;
}

// Coordinate search over weights, first modality fixed at 1; a later modality may only differ from
// its predecessor's best where validation AUROC says so.
std::vector<double> SearchWeights(const FeatureMatrix& projection, const SamplePool& pool,
                                  const std::vector<Batch>& validation) {
  constexpr double kSteps[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.4, 1.7, 2.0};
  std::vector<double> weights(pool.modalities().size(), 1.0);
  double best = MeanAuroc(validation, projection, {});
  for (int round = 0; round < 2; ++round) {
    for (std::size_t m = 1; m < weights.size(); ++m) {
      const std::vector<double> base = weights;
      for (double step : kSteps) {
        std::vector<double> trial = base;
        trial[m] *= step;
        const double auroc = MeanAuroc(validation, Weighted(projection, pool, trial), {});
        if (auroc > best) {
          best = auroc;
          weights = trial;
        }
      }
    }
    if (weights.size() < 3) break;
  }
  return weights;
}

}  // namespace

FeatureMatrix ProjectedScores(const FeatureMatrix& projection, const FeatureMatrix& features,
                              Metric metric, const Normaliser& normaliser) {
  if (metric == Metric::kEuclidean) return EuclideanScores(ProjectAll(projection, features));
  return CosineScores(ProjectAndNormalise(projection, features, normaliser));
}

double MeanAuroc(const std::vector<Batch>& batches, const FeatureMatrix& projection,
                 const Normaliser& normaliser, Metric metric) {
  double sum = 0;
  for (const Batch& batch : batches) {
    const absl::StatusOr<ScoreSet> scores =
        PairScores(ProjectedScores(projection, batch.features, metric, normaliser), batch.classes);
    if (!scores.ok()) return -1;
    // Counting each impostor's rank among the few genuine scores avoids sorting the many.
    std::vector<double> genuine = scores->genuine;
    std::sort(genuine.begin(), genuine.end());
    double wins = 0;
    for (double score : scores->impostor) {
      const auto [lower, upper] = std::equal_range(genuine.begin(), genuine.end(), score);
      wins += 0.5 * ((genuine.end() - lower) + (genuine.end() - upper));
    }
    sum += wins / (static_cast<double>(genuine.size()) * scores->impostor.size());
  }
  return sum / batches.size();
}

double Quantile(const Eigen::VectorXd& values, double share) {
  std::vector<double> sorted(values.data(), values.data() + values.size());
  std::sort(sorted.begin(), sorted.end());
  const double position = share * (sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

absl::StatusOr<Normaliser> FitToNorms(const Eigen::VectorXd& s, const TrainOptions& options) {
  const double lo = Quantile(s, 0.001) / options.interval_margin;
  const double hi = Quantile(s, 0.999) * options.interval_margin;
  if (!(lo > 0) || !std::isfinite(hi)) {
    return absl::InvalidArgumentError(
        "a training sample projects to zero or to infinity, no interval can be fitted");
  }
  const double gain_squared = 1 / std::sqrt(lo * hi);
  // Equal norms (one dimension) would make the interval empty.
  const double spread = std::max(std::sqrt(hi / lo), 1.01);
  Normaliser normaliser;
  normaliser.gain = std::sqrt(gain_squared);
  HEFT_ASSIGN_OR_RETURN(normaliser.approximation,
                        Fit(options.fit, options.degree, {1 / spread, spread}));
  return normaliser;
}

absl::StatusOr<FeatureMatrix> DiscriminantStart(const SamplePool& pool,
                                                const std::vector<Batch>& validation,
                                                const TrainOptions& options,
                                                std::vector<double>& weights) {
  DiscriminantOptions lda;
  lda.shrinkage = options.shrinkage;
  HEFT_ASSIGN_OR_RETURN(const Discriminants found, ChimericLda(pool, options.gamma, lda));
  FeatureMatrix projection = FeatureMatrix::Zero(options.gamma, found.vectors.cols());
  for (Eigen::Index i = 0; i < found.vectors.rows(); ++i) {
    const double ratio = found.ratios[i];
    projection.row(i) = std::sqrt(ratio / (1 + 2 * ratio)) * found.vectors.row(i);
  }
  // Fewer discriminants than gamma (few identities): principal components, of small weight.
  const Eigen::Index missing = options.gamma - found.vectors.rows();
  if (missing > 0) {
    const double size =
        std::sqrt(projection.squaredNorm() / std::max<Eigen::Index>(1, found.vectors.rows()));
    const FeatureMatrix components = Pca(pool.Paired().features, static_cast<int>(missing));
    projection.block(found.vectors.rows(), 0, components.rows(), components.cols()) =
        kFillWeight * size * components;
  }
  weights = options.modality_weights.empty() ? SearchWeights(projection, pool, validation)
                                             : options.modality_weights;
  return Weighted(projection, pool, weights);
}

}  // namespace heft::internal
