// SPDX-License-Identifier: Apache-2.0
#include "gallery/wear.h"

#include <algorithm>

#include "fusion/errors.h"

namespace heft {

WearCosts WearCostsOf(const Instance& matching) {
  const ckks::Params& params = matching.params();
  const FusionPlan& plan = matching.plan;
  const double positions = 2.0 * params.slots();
  WearCosts costs;
  costs.addition = AdditionVariance(params, plan);
  costs.batch = BatchVariance(params, plan);
  costs.exchange = RenewalVariance(params, plan);
  costs.rekeying = RekeyVariance(params, plan);
  costs.bound = positions * (costs.addition + costs.exchange);
  costs.reserve = costs.bound / 2;
  return costs;
}

bool MayAdd(const WearCosts& costs, const BlockWear& block, double clean, double cost) {
  // Sums of thousands of equal numbers differ slightly from their product.
  constexpr double kRounding = 1e-9;
  const double exposure = block.wear + cost - std::min(block.least_clean, clean);
  return exposure <= (costs.bound - costs.reserve) * (1 + kRounding);
}

double MovedClean(const WearCosts& costs, double source_wear, double source_clean, double target) {
  return target - (source_wear - source_clean + costs.exchange);
}

double Margin(const WearCosts& costs, const BlockWear& block) {
  return 1 - (block.wear - block.least_clean) / costs.bound;
}

}  // namespace heft
