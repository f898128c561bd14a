// SPDX-License-Identifier: Apache-2.0
#include "ckks/seeded.h"

#include "base/check.h"
#include "ckks/keys.h"

namespace heft::ckks {

Ciphertext Expand(const Context& context, const SeededCiphertext& seeded) {
  HEFT_DCHECK(seeded.c0.n() == context.n() && seeded.c0.limbs() <= context.params().limbs(),
              "a polynomial of this context");
  Ciphertext out;
  out.scale = seeded.scale;
  out.noise = seeded.noise;
  out.parts.push_back(seeded.c0);
  out.parts.emplace_back(seeded.c0.n(), seeded.c0.limbs());
  for (size_t l = 0; l < seeded.c0.limbs(); ++l) {
    ExpandUniform(context, out.parts[1].limb(l), seeded.seed, 0, l);
  }
  return out;
}

}  // namespace heft::ckks
