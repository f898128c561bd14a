// SPDX-License-Identifier: Apache-2.0
// Shared by both parts of a renewal (fusion/renewal.h, fusion/owner/renewal.h).
#ifndef HEFT_FUSION_RENEWAL_INTERNAL_H_
#define HEFT_FUSION_RENEWAL_INTERNAL_H_

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ckks/bounded_encoder.h"
#include "fusion/plan.h"
#include "fusion/renewal.h"

namespace heft::internal {

// BlockSlots: slots of one of a block's ciphertexts. A level of two primes has more bits than a
// double, so adding pads of 2^24 to doubles would round the values away.
using BlockSlots = ckks::WideSlots;

// EncodeBlock: encodes slots within `bound` at a block's level and scale; DecodeBlock wipes `poly`.
absl::StatusOr<ring::RnsPoly> EncodeBlock(const Instance& instance,
                                          const ckks::BoundedEncoder& encoder,
                                          const BlockSlots& slots, double bound);
BlockSlots DecodeBlock(const Instance& instance, const ckks::BoundedEncoder& encoder,
                       ring::RnsPoly poly);

// WipeSlots: wipes pads, and the values that they hide.
void WipeSlots(BlockSlots* slots);

// TargetOf: the target's ciphertext for a coordinate from ciphertext k of the source. G_k[j] = t[(j
// + k) mod gamma], before it is rotated back as its giant.
inline uint32_t TargetOf(const Instance& instance, const Move& move, uint32_t k) {
  // Slots are a multiple of gamma, so positions of both lanes can be used as slots.
  return (move.from + k - move.to) & (instance.plan.gamma - 1);
}

// CarryMoves: copies the slots of ciphertext k of source `source` to target[k'][position] of gamma
// targets, with the sign of the new position, each rotated back by GiantSteps. Different k write
// different values.
void CarryMoves(const Instance& instance, std::span<const Move> moves, uint32_t source, uint32_t k,
                const BlockSlots& slots, std::span<BlockSlots> targets);

// DrawPads: of ciphertext k of a source, uniform in [-range, range] in every slot of both lanes, on
// a grid of 2^-53 of their range, or 2^-106. They follow from `seed`.
BlockSlots DrawPads(const ckks::BoundedEncoder& encoder, const Seed& seed, uint64_t source,
                    uint32_t k, double range);

// kPadRoom: the largest value of a valid block's slots without pads.
inline constexpr double kPadRoom = 2;

}  // namespace heft::internal

#endif  // HEFT_FUSION_RENEWAL_INTERNAL_H_
