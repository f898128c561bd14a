// SPDX-License-Identifier: Apache-2.0
#include "evaluation/weighted_pairs.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace heft::internal {
namespace {

// FMR = FNMR on the line between two points of the ROC, the first below and the second not.
double EerBetween(double fmr0, double tmr0, double fmr1, double tmr1) {
  const double gap0 = fmr0 - (1 - tmr0), gap1 = fmr1 - (1 - tmr1);
  return gap1 > gap0 ? fmr0 + (fmr1 - fmr0) * (-gap0) / (gap1 - gap0) : fmr1;
}

}  // namespace

WeightedPairs::WeightedPairs(std::span<const double> scores, std::span<const int> a,
                             std::span<const int> b) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    return scores[x] != scores[y] ? scores[x] > scores[y] : x < y;
  });
  pairs_.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool last = i + 1 == order.size() || scores[order[i + 1]] != scores[order[i]];
    pairs_.push_back({a[order[i]], b[order[i]], last});
  }
}

VerificationMetrics WeightedPairs::Measure(std::span<const double> weights) const {
  double all_genuine = 0, all_impostor = 0;
  for (const Pair& pair : pairs_) {
    if (pair.a == pair.b) {
      all_genuine += weights[pair.a];
    } else {
      all_impostor += weights[pair.a] * weights[pair.b];
    }
  }
  VerificationMetrics metrics;
  if (all_genuine == 0 || all_impostor == 0) {
    metrics.auroc = std::numeric_limits<double>::quiet_NaN();
    return metrics;
  }
  // Runs a thousand times over millions of pairs: no division and no branch that depends on the
  // weights.
  const double limit_1e2 = 1e-2 * all_impostor, limit_1e3 = 1e-3 * all_impostor;
  const double product = all_genuine * all_impostor;
  double genuine = 0, impostor = 0;          // accepted at the current threshold
  double tie_genuine = 0, tie_impostor = 0;  // of the score being read
  double genuine_1e2 = 0, genuine_1e3 = 0, area = 0;
  bool crossed = false;
  for (const Pair& pair : pairs_) {
    if (pair.a == pair.b) {
      tie_genuine += weights[pair.a];
    } else {
      tie_impostor += weights[pair.a] * weights[pair.b];
    }
    if (!pair.ends_tie) continue;
    area += tie_impostor * (genuine + 0.5 * tie_genuine);
    const double last_genuine = genuine, last_impostor = impostor;
    genuine += tie_genuine;
    impostor += tie_impostor;
    tie_genuine = tie_impostor = 0;
    if (impostor <= limit_1e2) genuine_1e2 = genuine;
    if (impostor <= limit_1e3) genuine_1e3 = genuine;
    // FMR = FNMR where impostor / all_impostor + genuine / all_genuine = 1.
    if (!crossed && impostor * all_genuine + genuine * all_impostor >= product) {
      crossed = true;
      metrics.eer = EerBetween(last_impostor / all_impostor, last_genuine / all_genuine,
                               impostor / all_impostor, genuine / all_genuine);
    }
  }
  metrics.tmr_1e2 = genuine_1e2 / all_genuine;
  metrics.tmr_1e3 = genuine_1e3 / all_genuine;
  metrics.auroc = area / product;
  return metrics;
}

}  // namespace heft::internal
