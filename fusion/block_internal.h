// SPDX-License-Identifier: Apache-2.0
// The layout of a gallery block, shared by matching.cc, tiled_ciphertexts.cc, added_templates.cc,
// bulk.cc and rekey.cc.
#ifndef HEFT_FUSION_BLOCK_INTERNAL_H_
#define HEFT_FUSION_BLOCK_INTERNAL_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "fusion/matching.h"
#include "fusion/plan.h"

namespace heft::internal {

// Offset of limb l, tile t, ciphertext k, part p in a block.
size_t TileOffset(size_t n, uint32_t gamma, size_t l, size_t t, size_t k, size_t p);

// The same for a probe of `count` ciphertexts. Its tiles are one line further apart: a probe is
// written ciphertext by ciphertext, and lines of one ciphertext at distances of a power of two
// would compete for the same cache sets.
size_t ProbeStride(uint32_t count);
size_t ProbeSize(const ckks::Context& context, uint32_t count);
size_t ProbeOffset(size_t n, uint32_t count, size_t l, size_t t, size_t k, size_t p);

// Reads and writes both parts of ciphertext k, MatchLimbs limbs, in the tiles.
std::vector<ring::RnsPoly> LoadTiled(const ckks::Context& context, uint32_t gamma, uint32_t k,
                                     BlockView tiles);
void StoreTiled(const ckks::Context& context, uint32_t gamma, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out);

// Adds both parts of ciphertext k, MatchLimbs limbs, to the tiles.
void AddTiled(const ckks::Context& context, uint32_t gamma, uint32_t k,
              std::span<const ring::RnsPoly> parts, TiledCiphertexts* out);

// Rotated: a masked sum under the automorphism `element`, rescaled to MatchLimbs limbs. A null key
// means the identity.
std::vector<ring::RnsPoly> Rotated(const ckks::Context& context,
                                   std::span<const ring::RnsPoly> parts, const ckks::SwitchKey* key,
                                   uint32_t element);

// kInvalidArgument unless `z` has the parts, limbs and scale of a fused template.
absl::Status CheckTemplate(const FusionPlan& plan, const ckks::Ciphertext& z);

// A mask of TemplateLimbs limbs that changes a template's or probe's scale to another one.
absl::StatusOr<ckks::Plaintext> EncodeMask(const Instance& instance, double from, double to,
                                           std::span<const ckks::Complex> mask, bool extended);

// kInvalidArgument, naming `what`, unless `tiles` has the size of a block.
absl::Status CheckTiles(const Instance& instance, BlockView tiles, const char* what);

// The same for a probe of `count` ciphertexts.
absl::Status CheckProbe(const Instance& instance, const TiledCiphertexts& probe, uint32_t count);

}  // namespace heft::internal

#endif  // HEFT_FUSION_BLOCK_INTERNAL_H_
