// SPDX-License-Identifier: Apache-2.0
// What both halves of a renewal share (fusion/renewal.h, fusion/owner/renewal.h).
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
// double: pads of 2^24 would round away what stands beside them.
using BlockSlots = ckks::WideSlots;

// EncodeBlock: at a block's level and scale, of slots within `bound`; DecodeBlock wipes `poly`.
absl::StatusOr<ring::RnsPoly> EncodeBlock(const Instance& instance,
                                          const ckks::BoundedEncoder& encoder,
                                          const BlockSlots& slots, double bound);
BlockSlots DecodeBlock(const Instance& instance, const ckks::BoundedEncoder& encoder,
                       ring::RnsPoly poly);

// WipeSlots: pads, and what they hide.
void WipeSlots(BlockSlots* slots);

// TargetOf: in which of a target's ciphertexts a coordinate stands that is in ciphertext k of the
// source. G_k[j] = t[(j + k) mod gamma], before it is rotated back as its giant.
inline uint32_t TargetOf(const Instance& instance, const Move& move, uint32_t k) {
  // Slots are a multiple of gamma, so positions of both lanes will do for slots.
  return (move.from + k - move.to) & (instance.plan.gamma - 1);
}

// CarryMoves: what slots of ciphertext k of source `source` become: target[k'][position] of
// gamma targets, with the sign of its place, each rotated back by GiantSteps. Different k touch
// different values.
void CarryMoves(const Instance& instance, std::span<const Move> moves, uint32_t source, uint32_t k,
                const BlockSlots& slots, std::span<BlockSlots> targets);

// kPadRoom: beyond the pads, what a sound block's slots may hold.
inline constexpr double kPadRoom = 2;

}  // namespace heft::internal

#endif  // HEFT_FUSION_RENEWAL_INTERNAL_H_
