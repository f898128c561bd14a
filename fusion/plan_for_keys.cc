// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan_for_keys.h"

namespace heft {

bool IsRotationAndConjugation(const ckks::Params& params, uint32_t element) {
  // The powers of 3 are 1 and 3 modulo 8, their negatives 7 and 5.
  const uint32_t residue = element % 8;
  return (residue == 5 || residue == 7) && element != ckks::ConjugationElement(params);
}

void FitPlanToKeys(const ckks::Params& params, const ckks::EvaluationKeys& keys, FusionPlan* plan) {
  std::vector<std::vector<uint32_t>> folds;
  size_t before_rescale = plan->folds_before_rescale;
  for (size_t i = 0; i < plan->projection_folds.size(); ++i) {
    const std::vector<uint32_t>& fold = plan->projection_folds[i];
    const bool split = fold.size() == 4 && IsRotationAndConjugation(params, fold[3]) &&
                       keys.galois.count(fold[3]) == 0;
    if (!split) {
      folds.push_back(fold);
      continue;
    }
    folds.push_back({1, fold[1]});
    folds.push_back({1, fold[2]});
    plan->keys.galois_keys.erase(fold[3]);
    --plan->key_switches;
    if (i < plan->folds_before_rescale) ++before_rescale;
  }
  plan->projection_folds = std::move(folds);
  plan->folds_before_rescale = before_rescale;
}

}  // namespace heft
