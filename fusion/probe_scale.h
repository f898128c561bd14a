// SPDX-License-Identifier: Apache-2.0
// Turns a template's vector into a probe, without the mask's level, which only enrolment needs.
#ifndef HEFT_FUSION_PROBE_SCALE_H_
#define HEFT_FUSION_PROBE_SCALE_H_

#include <cstdint>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "fusion/plan.h"

namespace heft {

// ToProbeScale: z of TemplateLimbs limbs times `factor`, in MatchLimbs limbs at probe_scale. For
// the factor MaskScale(plan, z.scale, probe_scale) the vector stays the same, up to a rounding of
// 2^-22.
absl::StatusOr<ckks::Ciphertext> ToProbeScale(const ckks::Context& context, const FusionPlan& plan,
                                              const ckks::Ciphertext& z, int64_t factor);

}  // namespace heft

#endif  // HEFT_FUSION_PROBE_SCALE_H_
