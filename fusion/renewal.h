// SPDX-License-Identifier: Apache-2.0
// Renewal: blocks are made anew together with the key owner, who encrypts again what he keeps and
// sees none of it. The server's half; the key owner's is fusion/owner/renewal.h.
//
//   server: PadBlock     G_k + r_k, with a pad in every slot of both lanes
//   owner:  RenewBlock   decrypts t + r, and encrypts the positions that are kept, nothing else
//   server: FinishBlock  subtracts r there, in the clear
//
// Moves say which position of which block becomes which: all of a block to where they are renew it,
// one left out is removed, and several blocks into one compact them. A template that moves stands
// in other ciphertexts of the block, with another sign (SlotSign): the key owner has all of its
// coordinates, and the pads follow them.
//
// What the key owner sees of a template: its coordinates plus pads that are uniform in [-R, R], R
// = PadRange, 2^24 in every profile: two templates of unit length are apart by at most sqrt(gamma)
// / R in total variation, 3e-7 for 32 dimensions and 2e-6 for 1,024, each coordinate by 1 / R, and
// by as much more with every further exchange that keeps them. (What he decrypts are integers, the
// block's and the rounded pad's: integers added before or after rounding are the same, so this
// holds for the noise of the ciphertexts too, down to the grid of the pads.)
// The second part of each ciphertext is hidden by an encryption of zero (ckks/zero_sample.h), which
// leaves no error: it is added at P times the block's scale, modulo the special prime P too, and
// goes when the key owner divides by P.
//
// **A seed serves one request about one state of a block.** Two states under the same pads differ
// by what happened between them.
#ifndef HEFT_FUSION_RENEWAL_H_
#define HEFT_FUSION_RENEWAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "ckks/seeded.h"
#include "fusion/matching.h"
#include "fusion/plan.h"
#include "ring/rns_poly.h"

namespace heft {

// Move: what stands at position `from` of source `source` of a request, an ordinal, goes to
// position `to` of the target. Positions are lane * slots + slot.
struct Move {
  uint32_t source = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  bool operator==(const Move&) const = default;
};

// CheckMoves: of one target. kInvalidArgument unless every position is one of a block, every source
// is below `sources`, and none moves twice or is filled twice.
absl::Status CheckMoves(const ckks::Params& params, std::span<const Move> moves, size_t sources);

// PadRange: R, the largest power of two up to 2^24 with which t + r cannot wrap around modulo the
// primes of a block, whatever the pads. kInvalidArgument for parameters that leave less than 2^20.
absl::StatusOr<double> PadRange(const Instance& instance);

// PaddedBlock: gamma ciphertexts of two parts in the extended basis: MatchLimbs limbs and the
// special prime's, at block_scale times the special prime.
struct PaddedBlock {
  struct Parts {
    ring::RnsPoly part[2];
  };
  std::vector<Parts> ciphertexts;
};

// PadBlock: source `source` of a request; its pads follow from `seed`, 32 bytes of the operating
// system's that stay with the server. `keys` are those of AddToBlock. kInvalidArgument for a block
// of another size, kFailedPrecondition where a key is missing.
absl::StatusOr<PaddedBlock> PadBlock(const Instance& instance, BlockView block, const Seed& seed,
                                     uint64_t source, const ckks::EvaluationKeys& keys);

// FinishBlock: the target of `moves` out of the key owner's answer, gamma encryptions of MatchLimbs
// limbs. The same bytes for the same input. kInvalidArgument for another number or form, and as
// CheckMoves.
absl::StatusOr<TiledCiphertexts> FinishBlock(const Instance& instance,
                                             std::span<const ckks::SeededCiphertext> answer,
                                             const Seed& seed, std::span<const Move> moves);

// RenewalScoreError: root mean square of the error that one exchange adds to a score, for unit
// vectors. Those of several are independent.
double RenewalScoreError(const Instance& instance);

}  // namespace heft

#endif  // HEFT_FUSION_RENEWAL_H_
