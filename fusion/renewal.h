// SPDX-License-Identifier: Apache-2.0
// Renewal: the server renews blocks together with the key owner, which encrypts the kept templates
// again without seeing them. This is the server's part; the key owner's is fusion/owner/renewal.h.
//
//   server: PadBlock     G_k + r_k, with a pad in every slot of both lanes
//   owner:  RenewBlock   decrypts t + r, and encrypts the kept positions only
//   server: FinishBlock  subtracts r there, unencrypted
//
// Moves map positions of source blocks to positions of a target. Mapping all positions to
// themselves renews a block; leaving one out removes it; mapping several blocks into one compacts
// them. A moved template is in other ciphertexts of the block, with another sign (SlotSign): the
// key owner has all of its coordinates, and the pads follow them.
//
// The key owner sees a template's coordinates plus pads that are uniform in [-R, R], where R =
// PadRange, 2^24 in every profile. The views of two templates of unit length differ by at most
// sqrt(gamma) / R in total variation: 3e-7 for 32 dimensions and 2e-6 for 1,024, and for each
// coordinate by 1 / R. Every further exchange that keeps them adds as much again. (The decrypted
// values are integers: the block's value plus the rounded pad. Adding integers before or after
// rounding gives the same result. So this is also true for the noise of the ciphertexts, down to
// the grid of the pads.)
//
// The second part of each ciphertext is hidden by an encryption of zero (ckks/zero_sample.h), which
// leaves no error: it is added at P times the block's scale, modulo the special prime P too, and
// disappears when the key owner divides by P.
//
// **A seed serves one request about one state of a block.** With the same pads, two states would
// differ by exactly the changes between them.
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

// Move: the template at position `from` of source number `source` of a request goes to position
// `to` of the target. Positions are lane * slots + slot.
struct Move {
  uint32_t source = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  bool operator==(const Move&) const = default;
};

// CheckMoves: checks the moves of one target. kInvalidArgument unless every position is valid,
// every source is below `sources`, and no position is moved or filled twice.
absl::Status CheckMoves(const ckks::Params& params, std::span<const Move> moves, size_t sources);

// PadRange: R, the largest power of two up to 2^24 for which t + r cannot wrap around modulo the
// primes of a block for any pads. kInvalidArgument for parameters that permit less than 2^20.
absl::StatusOr<double> PadRange(const Instance& instance);

// PaddedBlock: gamma ciphertexts of two parts in the extended basis: MatchLimbs limbs and the
// special prime's, at block_scale times the special prime.
struct PaddedBlock {
  struct Parts {
    ring::RnsPoly part[2];
  };
  std::vector<Parts> ciphertexts;
};

// PadBlock: pads source `source` of a request. The pads follow from `seed`, 32 random bytes that
// stay with the server. `keys` are those of AddToBlock. kInvalidArgument for a block of another
// size, kFailedPrecondition if a key is missing.
absl::StatusOr<PaddedBlock> PadBlock(const Instance& instance, BlockView block, const Seed& seed,
                                     uint64_t source, const ckks::EvaluationKeys& keys);

// FinishBlock: the target of `moves` from the key owner's answer, gamma encryptions of MatchLimbs
// limbs. The same input gives the same bytes. kInvalidArgument for another number or form, and as
// CheckMoves.
absl::StatusOr<TiledCiphertexts> FinishBlock(const Instance& instance,
                                             std::span<const ckks::SeededCiphertext> answer,
                                             const Seed& seed, std::span<const Move> moves);

// RenewalScoreError: root mean square of the error that one exchange adds to a score, for unit
// vectors. Errors of several exchanges are independent.
double RenewalScoreError(const Instance& instance);

}  // namespace heft

#endif  // HEFT_FUSION_RENEWAL_H_
