// SPDX-License-Identifier: Apache-2.0
#include "evaluation/tail_fit.h"

#include <algorithm>

namespace heft::internal {
namespace {

// kTrusted: of the shape that the moments give. In depths it is near 0 whatever the people, so half
// of it is better than all or nothing: less scatter than the one, less bias than the other.
constexpr double kTrusted = 0.5;

}  // namespace

// Probability-weighted moments of the excesses over `start`, in depths that fall.
void FitPareto(std::span<const Weighted> above, double start, double total, ImpostorTail* tail) {
  double mean = 0, moment = 0, seen = 0;
  for (const Weighted& w : above) {  // P(excess > this one), in the middle of its weight
    const double excess = w.value - start;
    const double survival = (seen + w.weight / 2) / total;
    mean += w.weight * excess / total;
    moment += w.weight * excess * survival / total;
    seen += w.weight;
  }
  const double spread = mean - 2 * moment;
  const bool alike = !(spread > 0) || !(mean > 0);
  tail->shape = alike ? 0 : kTrusted * std::clamp(2 - mean / spread, -1.0, 0.9);
  tail->scale = std::max(mean * (1 - tail->shape), 1e-9);  // keeps the mean
}

}  // namespace heft::internal
