// SPDX-License-Identifier: Apache-2.0
#include "fusion/probe_scale.h"

#include "ckks/arithmetic.h"

namespace heft {

absl::StatusOr<ckks::Ciphertext> ToProbeScale(const ckks::Context& context, const FusionPlan& plan,
                                              const ckks::Ciphertext& z, int64_t factor) {
  ckks::Ciphertext out;
  ckks::MultiplyInteger(context, &out, z, factor);
  out.noise.message = z.noise.message;
  out.scale *= static_cast<double>(factor);
  HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &out, out));
  out.scale = plan.matching.probe_scale;
  return out;
}

}  // namespace heft
