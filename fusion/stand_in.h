// SPDX-License-Identifier: Apache-2.0
// StandInBlock: the block for a verification of an identity that is not enrolled, so that its reply
// has the same form as others and its score is noise around 0.
#ifndef HEFT_FUSION_STAND_IN_H_
#define HEFT_FUSION_STAND_IN_H_

#include <cstdint>
#include <span>

#include "fusion/matching.h"

namespace heft {

// kStandInLength: the length of a stand-in's template. It bounds the cosine of every probe with it,
// so a threshold above it never accepts one.
inline constexpr double kStandInLength = 0.25;

// StandInBlock: a block with a template of kStandInLength in every slot and lane, unencrypted
// because it is of no person. Coordinates have equal size, and are negative if their bit of `signs`
// is set; `signs` has at least gamma / 8 bytes.
TiledCiphertexts StandInBlock(const Instance& instance, std::span<const uint8_t> signs);

}  // namespace heft

#endif  // HEFT_FUSION_STAND_IN_H_
