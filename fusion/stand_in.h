// SPDX-License-Identifier: Apache-2.0
// StandInBlock: what a verification of an identity that is not enrolled is matched with, so that
// its reply is like any other and its score noise around 0.
#ifndef HEFT_FUSION_STAND_IN_H_
#define HEFT_FUSION_STAND_IN_H_

#include <cstdint>
#include <span>

#include "fusion/matching.h"

namespace heft {

// kStandInLength: of a stand-in's template. No probe's cosine with it is larger, so a threshold
// above it never accepts one.
inline constexpr double kStandInLength = 0.25;

// StandInBlock: a block with a template of kStandInLength in every slot and lane, in the clear
// (nobody's, so there is nothing to hide): coordinates of one size, negative where a bit of `signs`
// is set, which has one for each, at least gamma / 8 bytes.
TiledCiphertexts StandInBlock(const Instance& instance, std::span<const uint8_t> signs);

}  // namespace heft

#endif  // HEFT_FUSION_STAND_IN_H_
