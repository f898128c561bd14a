// SPDX-License-Identifier: Apache-2.0
// MatchBlock: diagonal gallery blocks (docs/design.md, "Diagonal blocks"). A block is gamma
// ciphertexts G_k[j] = t_j[(j + k) mod gamma], with one template for each slot in the real parts
// and another one in the imaginary parts (lanes 0 and 1). scores = sum_k rot(z, k) * G_k, with one
// relinearisation for each block. If a plan has several giants, ciphertext k of a block is G_k
// rotated back by GiantSteps(k) slots. Then scores = sum over giants J of rot(sum_i rot(z, i) *
// G'_(J + i), J).
//
// Matching a block is a pure function of block, probe and keys.
#ifndef HEFT_FUSION_MATCHING_H_
#define HEFT_FUSION_MATCHING_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/reply_seed.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "fusion/plan.h"

namespace heft {

// gamma two-part ciphertexts with MatchLimbs limbs in the order in which matching reads them:
// [limb][n / tile][k][part][tile], tile = ring::kTile values.
using TiledCiphertexts = AlignedVector<uint32_t>;
// BlockView: a view of the same, 64-byte aligned, in memory or in the map of a store.
using BlockView = std::span<const uint32_t>;
std::vector<BlockView> Views(std::span<const TiledCiphertexts> blocks);
size_t TiledSize(const ckks::Context& context, uint32_t gamma);

// The position of a template in a block of 2 * slots templates.
struct Position {
  uint32_t slot = 0;
  uint32_t lane = 0;  // 0: real parts, 1: imaginary parts
};
inline Position PositionOf(uint32_t index, uint32_t slots) {
  return {index % slots, index / slots};
}

// All-zero ciphertexts: a block without templates (a transparent encryption of zeros).
TiledCiphertexts EmptyBlock(const ckks::Context& context, uint32_t gamma);

// A template to add to a block, with its position.
struct NewTemplate {
  const ckks::Ciphertext* z;  // fused by an instance with the mask's prime
  Position position;
};

// Adds templates to `block` at empty positions: mask_j * rot(z, k) is added to G_k. On error the
// block is unchanged.
absl::Status AddToBlock(const Instance& instance, TiledCiphertexts* block,
                        std::span<const NewTemplate> templates, const ckks::EvaluationKeys& keys);
// Reverses one call of AddToBlock with these templates, bit for bit. A call adds up to
// kTemplatesACall of them with one rounding; more templates count as several calls.
absl::Status TakeFromBlock(const Instance& instance, TiledCiphertexts* block,
                           std::span<const NewTemplate> templates,
                           const ckks::EvaluationKeys& keys);
inline constexpr size_t kTemplatesACall = 64;

// The probe's rotations, ProbeRotations of the plan, at MatchLimbs limbs, tiled, with one unused
// tile after each row of pairs: computed once for a whole gallery.
absl::StatusOr<TiledCiphertexts> PrepareProbe(const Instance& instance, const ckks::Ciphertext& z,
                                              const ckks::EvaluationKeys& keys);

// Scores of one block: slot j holds lane 0's score in its real part and lane 1's in its imaginary
// part. ScoreLimbs limbs at score_scale.
//
// `relinearise` false leaves three parts at MatchLimbs limbs: the key owner decrypts with s^2, the
// server saves a key switch, and the reply is three times as long. (It is not rescaled: the
// rounding of the third part, times s^2, would be 1e-3 of a score.) A plan of several giants always
// relinearises, because a sum of degree 2 cannot be rotated.
absl::StatusOr<ckks::Ciphertext> MatchBlock(const Instance& instance, BlockView block,
                                            const TiledCiphertexts& probe,
                                            const ckks::EvaluationKeys& keys,
                                            bool relinearise = true);

// Blocks that are read in parallel with one probe, so that the probe, which is as long as a block,
// is read from memory once for all of them (measured).
inline constexpr size_t kBlocksATile = 4;

// Blocks first ... end - 1.
struct BlockRun {
  size_t first, end;
};
// All of `blocks` in runs of at most kBlocksATile, in order, for `threads` >= 1 parallel matches.
// The last runs are shorter, so that no thread idles while another has a run.
std::vector<BlockRun> BlockRuns(size_t blocks, size_t threads);

// MatchBlock for several blocks: reads at most kBlocksATile in parallel.
absl::StatusOr<std::vector<ckks::Ciphertext>> MatchBlocks(const Instance& instance,
                                                          std::span<const BlockView> blocks,
                                                          const TiledCiphertexts& probe,
                                                          const ckks::EvaluationKeys& keys,
                                                          bool relinearise = true);

// Prepared probes, interleaved tile by tile: in separate buffers, equal offsets of all probes would
// compete for the same cache sets.
struct ProbeBatch {
  size_t probes = 0;
  TiledCiphertexts tiles;  // [limb][n / tile][probe][k][part][tile]
};
absl::StatusOr<ProbeBatch> PackProbes(const Instance& instance,
                                      std::span<const TiledCiphertexts> probes);

// Several probes against several blocks, each block read once: result[block * batch.probes +
// probe]. All products stay in memory until they are relinearised, so pass only a few blocks at a
// time. `relinearise` as for MatchBlock.
absl::StatusOr<std::vector<ckks::Ciphertext>> MatchBlocks(const Instance& instance,
                                                          std::span<const BlockView> blocks,
                                                          const ProbeBatch& batch,
                                                          const ckks::EvaluationKeys& keys,
                                                          bool relinearise = true);

// How many blocks to pass to MatchBlocks at once with a batch of about 64 probes. Each pass reads
// all probes from memory, in profile standard 256 MB from 64 dimensions on, so few blocks a pass
// are slow. Each sum of a giant takes 100 kB for each probe until it is relinearised. Sums that are
// not relinearised are not read again here, so more of them may leave the caches. (Measured at 32
// to 256 dimensions: twice as many blocks gain nothing.)
inline size_t BlocksAPass(const FusionPlan& plan, bool relinearise) {
  if (plan.matching.giants > 1) return std::max(16 / plan.matching.giants, 1u);
  return relinearise ? 8 : 16;
}

// The probe for a 1:1 verification against `slots` of one lane of a block: masked, so that no other
// template's score remains.
absl::StatusOr<TiledCiphertexts> PrepareMaskedProbe(const Instance& instance,
                                                    const ckks::Ciphertext& z,
                                                    std::span<const uint32_t> slots, uint32_t lane,
                                                    const ckks::EvaluationKeys& keys);

// Drowning: the source of the noise in a verification's reply.
struct Drowning {
  const ReplySeed* seed = nullptr;  // none: fresh
  uint64_t part = 0;                // of the reply
};

// Scores of the claimed slots only, in the real parts; adding the conjugate removes the other lane.
// `probe` is PrepareMaskedProbe's for the same slots and lane. A mask's zeros are zero only up to
// rounding, and a client can send a long probe to amplify the rest. So noise, as large as the base
// prime permits, fills every slot that is not claimed.
absl::StatusOr<ckks::Ciphertext> VerifyBlock(const Instance& instance, BlockView block,
                                             const TiledCiphertexts& probe,
                                             std::span<const uint32_t> slots, uint32_t lane,
                                             const ckks::EvaluationKeys& keys,
                                             const Drowning& drowning = {});

}  // namespace heft

#endif  // HEFT_FUSION_MATCHING_H_
