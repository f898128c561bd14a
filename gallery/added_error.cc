// SPDX-License-Identifier: Apache-2.0
#include "gallery/added_error.h"

#include <algorithm>

#include "fusion/errors.h"

namespace heft {

ErrorCosts ErrorCostsOf(const Instance& matching) {
  const ckks::Params& params = matching.params();
  const FusionPlan& plan = matching.plan;
  const double positions = 2.0 * params.slots();
  ErrorCosts costs;
  costs.addition = AdditionVariance(params, plan);
  costs.batch = BatchVariance(params, plan);
  costs.exchange = RenewalVariance(params, plan);
  costs.rekeying = RekeyVariance(params, plan);
  costs.bound = positions * (costs.addition + costs.exchange);
  costs.reserve = costs.bound / 2;
  return costs;
}

bool MayAdd(const ErrorCosts& costs, const BlockError& block, double clean, double cost) {
  // Sums of thousands of equal numbers differ slightly from their product.
  constexpr double kRounding = 1e-9;
  const double exposure = block.added + cost - std::min(block.least_clean, clean);
  return exposure <= (costs.bound - costs.reserve) * (1 + kRounding);
}

double MovedClean(const ErrorCosts& costs, double source_added, double source_clean, double target) {
  return target - (source_added - source_clean + costs.exchange);
}

double Margin(const ErrorCosts& costs, const BlockError& block) {
  return 1 - (block.added - block.least_clean) / costs.bound;
}

}  // namespace heft
