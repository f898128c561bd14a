// SPDX-License-Identifier: Apache-2.0
// A template's vector becomes a probe: the level of the mask, which only enrolment needs, goes.
#ifndef HEFT_FUSION_PROBE_SCALE_H_
#define HEFT_FUSION_PROBE_SCALE_H_

#include <cstdint>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "fusion/plan.h"

namespace heft {

// ToProbeScale: z of TemplateLimbs limbs times `factor`, as of MatchLimbs limbs at probe_scale: it
// is itself again where the factor is MaskScale(plan, z.scale, probe_scale), whose rounding is
// 2^-22 of the vector.
absl::StatusOr<ckks::Ciphertext> ToProbeScale(const ckks::Context& context, const FusionPlan& plan,
                                              const ckks::Ciphertext& z, int64_t factor);

}  // namespace heft

#endif  // HEFT_FUSION_PROBE_SCALE_H_
