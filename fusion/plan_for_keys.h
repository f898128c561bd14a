// SPDX-License-Identifier: Apache-2.0
// A plan fitted to keys that were made elsewhere. SEAL's interface makes keys for rotations and for
// conjugation, and not for a rotation followed by conjugation, which one fold of the projection
// uses.
#ifndef HEFT_FUSION_PLAN_FOR_KEYS_H_
#define HEFT_FUSION_PLAN_FOR_KEYS_H_

#include "ckks/keys.h"
#include "fusion/plan.h"

namespace heft {

// True where `element` is a rotation followed by conjugation.
bool IsRotationAndConjugation(const ckks::Params& params, uint32_t element);

// Splits each fold of the projection that needs such an element into two, {1, a, b, ab} into {1, a}
// and {1, b}, unless `keys` has its key: the same sum, one key fewer and one decomposition more.
void FitPlanToKeys(const ckks::Params& params, const ckks::EvaluationKeys& keys, FusionPlan* plan);

}  // namespace heft

#endif  // HEFT_FUSION_PLAN_FOR_KEYS_H_
