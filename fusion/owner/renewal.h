// SPDX-License-Identifier: Apache-2.0
// The key owner's half of a renewal (fusion/renewal.h). What he decrypts are pads to him; what
// leaves him is encrypted anew. Nothing that he does, or says, depends on a decrypted value: a
// server that sends ciphertexts of its own choice learns neither from errors nor from what is
// refused.
#ifndef HEFT_FUSION_OWNER_RENEWAL_H_
#define HEFT_FUSION_OWNER_RENEWAL_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "ckks/seeded.h"
#include "fusion/plan.h"
#include "fusion/renewal.h"

namespace heft {

// RenewBlock: one target out of padded sources, of which `moves` names some: gamma fresh
// encryptions of MatchLimbs limbs at block_scale, of what moves and zeros elsewhere. Scale and
// noise estimate are the same whatever they hold. kInvalidArgument as CheckMoves, and for a source
// of another form.
absl::StatusOr<std::vector<ckks::SeededCiphertext>> RenewBlock(const Instance& instance,
                                                               const ckks::SecretKey& secret,
                                                               std::span<const PaddedBlock> sources,
                                                               std::span<const Move> moves);

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_RENEWAL_H_
