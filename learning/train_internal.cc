// SPDX-License-Identifier: Apache-2.0
#include "learning/train_internal.h"

#include <algorithm>
#include <cmath>

#include "evaluation/metrics.h"
#include "learning/objective.h"

namespace heft::internal {

FeatureMatrix ProjectedScores(const FeatureMatrix& projection, const FeatureMatrix& features,
                              Metric metric, const Normaliser& normaliser) {
  if (metric == Metric::kEuclidean) return EuclideanScores(ProjectAll(projection, features));
  return CosineScores(ProjectAndNormalise(projection, features, normaliser));
}

double FastAuroc(const FeatureMatrix& scores, std::span<const int> classes) {
  const absl::StatusOr<ScoreSet> pairs = PairScores(scores, classes);
  if (!pairs.ok()) return -1;
  // Counting each impostor's rank among the few genuine scores avoids sorting the many.
  std::vector<double> genuine = pairs->genuine;
  std::sort(genuine.begin(), genuine.end());
  double wins = 0;
  for (double score : pairs->impostor) {
    const auto [lower, upper] = std::equal_range(genuine.begin(), genuine.end(), score);
    wins += 0.5 * ((genuine.end() - lower) + (genuine.end() - upper));
  }
  return wins / (static_cast<double>(genuine.size()) * pairs->impostor.size());
}

double MeanAuroc(const std::vector<Batch>& batches, const FeatureMatrix& projection,
                 const Normaliser& normaliser, Metric metric) {
  double sum = 0;
  for (const Batch& batch : batches) {
    const double auroc =
        FastAuroc(ProjectedScores(projection, batch.features, metric, normaliser), batch.classes);
    if (auroc < 0) return -1;
    sum += auroc;
  }
  return sum / batches.size();
}

Judged JudgeAll(const std::vector<Batch>& batches, const FeatureMatrix& projection,
                const Normaliser& normaliser, Metric metric) {
  Judged out;
  PooledPairs pairs;
  for (const Batch& batch : batches) {
    const FeatureMatrix scores = ProjectedScores(projection, batch.features, metric, normaliser);
    out.auroc += FastAuroc(scores, batch.classes) / static_cast<double>(batches.size());
    pairs.Add(scores, batch.classes);
  }
  out.fnmr = EstimateFnmr(pairs, recipe::kFmr).fnmr;
  return out;
}

double OutsideShare(const Eigen::VectorXd& s, const Interval& interval) {
  double outside = 0;
  for (double value : s) outside += !interval.Contains(value);
  return outside / static_cast<double>(s.size());
}

double Quantile(const Eigen::VectorXd& values, double share) {
  std::vector<double> sorted(values.data(), values.data() + values.size());
  std::sort(sorted.begin(), sorted.end());
  const double position = share * (sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

absl::StatusOr<Normaliser> FitToNorms(const Eigen::VectorXd& norms, const TrainOptions& options) {
  // A sample whose only modality has no direction in the projection has no template. Only dropped
  // modalities make such samples.
  std::vector<double> kept(norms.begin(), norms.end());
  if (options.drop_modality > 0) std::erase_if(kept, [](double norm) { return !(norm > 0); });
  if (kept.empty()) kept = {0.0};
  const Eigen::VectorXd s =
      Eigen::Map<const Eigen::VectorXd>(kept.data(), static_cast<Eigen::Index>(kept.size()));
  const double lo = Quantile(s, 0.001) / options.interval_margin;
  const double hi = Quantile(s, 0.999) * options.interval_margin;
  if (!(lo > 0) || !std::isfinite(hi)) {
    return absl::InvalidArgumentError(
        "a sample projects to zero or to infinity, so no interval can be fitted: check the data");
  }
  // Quantiles of few samples say little of others. Logarithms of squared norms are nearly normal. A
  // wider interval is a worse approximation, which rejects people too, so it is taken only while
  // the error allows it.
  const Eigen::ArrayXd logarithms = s.array().max(1e-300).log();
  const double mean = logarithms.mean();
  const double deviation = std::sqrt((logarithms - mean).square().mean());
  const double most = options.recipe == Recipe::kGeneralising && std::isfinite(deviation)
                          ? recipe::kIntervalDeviations
                          : 0;
  for (double deviations = most;; deviations -= 0.5) {
    const double reach = std::max(deviations, 0.0) * deviation;
    const double from = deviations > 0 ? std::min(lo, std::exp(mean - reach)) : lo;
    const double to = deviations > 0 ? std::max(hi, std::exp(mean + reach)) : hi;
    // Equal norms (one dimension) would make the interval empty.
    const double spread = std::max(std::sqrt(to / from), 1.01);
    // The middle is 1, or less where the profile has no room for the upper end.
    // Below the largest norm by more than what rounding adds on the way into a model.
    constexpr double kRounding = 1e-10;
    const double middle = std::min(1.0, (1 - kRounding) * options.largest_norm / spread);
    Normaliser normaliser;
    normaliser.gain = std::sqrt(middle) * std::pow(from * to, -0.25);
    HEFT_ASSIGN_OR_RETURN(normaliser.approximation,
                          Fit(options.fit, options.degree, {middle / spread, middle * spread}));
    if (deviations <= 0 || normaliser.approximation->MaxRelativeError() <= recipe::kIntervalError) {
      return normaliser;
    }
  }
}

}  // namespace heft::internal
