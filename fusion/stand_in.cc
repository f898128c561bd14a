// SPDX-License-Identifier: Apache-2.0
#include "fusion/stand_in.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "fusion/block_internal.h"

namespace heft {

TiledCiphertexts StandInBlock(const Instance& instance, std::span<const uint8_t> signs) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  HEFT_DCHECK(signs.size() >= (gamma + 7) / 8, "a sign for each coordinate");
  // 1 + X^(n/2) has 1 in the real part of every slot, and 1 or -1 in the imaginary part. So
  // ciphertext k, a multiple of it, has in each slot a coordinate of that slot's template.
  const double coordinate = kStandInLength / std::sqrt(gamma) * instance.plan.matching.block_scale;
  const size_t limbs = MatchLimbs(context.params());
  std::array<ring::RnsPoly, 2> positive = {ring::RnsPoly(context.n(), limbs),
                                           ring::RnsPoly(context.n(), limbs)};
  for (ring::RnsPoly& part : positive) std::ranges::fill(part.values(), 0);
  std::array<ring::RnsPoly, 2> negative = positive;
  for (size_t l = 0; l < limbs; ++l) {
    const uint32_t value =
        static_cast<uint32_t>(std::llround(coordinate) % context.modulus(l).value());
    for (const size_t i : {size_t{0}, size_t{context.n() / 2}}) {
      positive[0].limb(l)[i] = value;
      negative[0].limb(l)[i] = context.modulus(l).Negate(value);
    }
    context.ntt(l).Forward(positive[0].limb(l));
    context.ntt(l).Forward(negative[0].limb(l));
  }
  TiledCiphertexts block(TiledSize(context, gamma));
  for (uint32_t k = 0; k < gamma; ++k) {
    const bool minus = (signs[k / 8] >> (k % 8) & 1) != 0;
    internal::StoreTiled(context, gamma, k, minus ? negative : positive, &block);
  }
  return block;
}

}  // namespace heft
