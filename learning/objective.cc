// SPDX-License-Identifier: Apache-2.0
#include "learning/objective.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "learning/recipe.h"

namespace heft {

void PooledPairs::Add(const FeatureMatrix& scores, std::span<const int> classes) {
  size_t highest = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    highest = std::max(highest, static_cast<size_t>(classes[i]) + 1);
    for (size_t j = i + 1; j < classes.size(); ++j) {
      const double score = scores(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      if (classes[i] != classes[j]) {
        impostor.push_back(score);
      } else {
        genuine.push_back(score);
        person.push_back(people + static_cast<size_t>(classes[i]));
      }
    }
  }
  people += highest;
}

double TailThreshold(std::vector<double>& impostor, double fmr) {
  const auto count = static_cast<double>(impostor.size());
  const size_t tail =
      std::clamp<size_t>(static_cast<size_t>(recipe::kTailShare * count),
                         std::min<size_t>(recipe::kFewestInTail, impostor.size()), impostor.size());
  const size_t wanted = std::min(static_cast<size_t>(fmr * count), impostor.size() - 1);
  const size_t rank = std::max(tail - 1, wanted);
  const auto at = impostor.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(impostor.begin(), at, impostor.end(), std::greater<>());
  if (wanted >= tail) return *at;
  const double start = *at;
  const double excess = std::accumulate(impostor.begin(), at, 0.0) / static_cast<double>(tail) -
                        start * static_cast<double>(rank) / static_cast<double>(tail);
  return start + excess * std::log(static_cast<double>(tail) / (count * fmr));
}

FnmrEstimate EstimateFnmr(PooledPairs& pairs, double fmr) {
  FnmrEstimate out;
  out.of_person.resize(pairs.people);
  out.pairs.resize(pairs.people);
  if (pairs.genuine.empty() || pairs.impostor.empty()) return out;
  const double threshold = TailThreshold(pairs.impostor, fmr);
  const auto count = static_cast<double>(pairs.genuine.size());
  double mean = 0, square = 0;
  for (double score : pairs.genuine) mean += score / count;
  for (double score : pairs.genuine) square += (score - mean) * (score - mean) / count;
  const double width = std::max(recipe::kBandwidth * std::sqrt(square), 1e-9);
  double sum = 0;
  for (size_t i = 0; i < pairs.genuine.size(); ++i) {
    const double missed = std::erfc((pairs.genuine[i] - threshold) / (width * M_SQRT2)) / 2;
    sum += missed;
    out.of_person[pairs.person[i]] += missed;
    out.pairs[pairs.person[i]] += 1;
  }
  out.fnmr = sum / count;
  return out;
}

FnmrEstimate EstimateFnmr(std::span<const LabelledScores> sets, double fmr) {
  PooledPairs pairs;
  for (const LabelledScores& set : sets) pairs.Add(set.scores, set.identities);
  return EstimateFnmr(pairs, fmr);
}

double Objective(const FnmrEstimate& estimate) {
  const double beyond = std::abs(std::log(estimate.norm_ratio)) - std::log(recipe::kNormRatio);
  return estimate.fnmr + recipe::kNormPenalty * std::max(beyond, 0.0);
}

FnmrDifference Subtract(const FnmrEstimate& a, const FnmrEstimate& b) {
  FnmrDifference out{Objective(a) - Objective(b), 0};
  const double total = std::accumulate(a.pairs.begin(), a.pairs.end(), 0.0);
  if (a.pairs != b.pairs || total == 0) return out;
  // The ratio estimator of a sum over people, linearised.
  double square = 0;
  for (size_t i = 0; i < a.pairs.size(); ++i) {
    const double residual = a.of_person[i] - b.of_person[i] - (a.fnmr - b.fnmr) * a.pairs[i];
    square += residual * residual;
  }
  out.standard_error = std::sqrt(square) / total;
  return out;
}

}  // namespace heft
