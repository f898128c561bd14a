// SPDX-License-Identifier: Apache-2.0
// What matching.cc, bulk.cc and rekey.cc share about the insides of a gallery block.
#ifndef HEFT_FUSION_BLOCK_INTERNAL_H_
#define HEFT_FUSION_BLOCK_INTERNAL_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "fusion/matching.h"
#include "fusion/plan.h"

namespace heft::internal {

// Both parts of ciphertext k, kMatchLimbs limbs, out of the tiles and into them.
std::vector<ring::RnsPoly> LoadTiled(const ckks::Context& context, uint32_t gamma, uint32_t k,
                                     const TiledCiphertexts& tiles);
void StoreTiled(const ckks::Context& context, uint32_t gamma, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out);

// Adds both parts of ciphertext k, kMatchLimbs limbs, to the tiles.
void AddTiled(const ckks::Context& context, uint32_t gamma, uint32_t k,
              std::span<const ring::RnsPoly> parts, TiledCiphertexts* out);

// kInvalidArgument unless `z` has the parts, limbs and scale of a fused template.
absl::Status CheckTemplate(const FusionPlan& plan, const ckks::Ciphertext& z);

// kInvalidArgument, naming `what`, unless `tiles` has the size of a block.
absl::Status CheckTiles(const Instance& instance, const TiledCiphertexts& tiles, const char* what);

}  // namespace heft::internal

#endif  // HEFT_FUSION_BLOCK_INTERNAL_H_
