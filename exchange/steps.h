// SPDX-License-Identifier: Apache-2.0
// Rotations as SEAL counts them.
#ifndef HEFT_EXCHANGE_STEPS_H_
#define HEFT_EXCHANGE_STEPS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "ckks/params.h"

namespace heft {

// RotationSteps: rotations to the left among Galois elements.
std::vector<uint32_t> RotationSteps(const ckks::Params& params,
                                    const std::map<uint32_t, size_t>& elements);

}  // namespace heft

#endif  // HEFT_EXCHANGE_STEPS_H_
