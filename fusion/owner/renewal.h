// SPDX-License-Identifier: Apache-2.0
// The key owner's part of a renewal (fusion/renewal.h). The values that it decrypts look like
// random pads, and its outputs are freshly encrypted. None of its actions or errors depends on a
// decrypted value. So a server that sends chosen ciphertexts learns nothing from errors or
// refusals.
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

// RenewBlock: one target from padded sources, as named by `moves`: gamma fresh encryptions of
// MatchLimbs limbs at block_scale, with the moved values and zeros elsewhere. Scale and noise
// estimate do not depend on the values. kInvalidArgument as CheckMoves, and for a source of another
// form.
absl::StatusOr<std::vector<ckks::SeededCiphertext>> RenewBlock(const Instance& instance,
                                                               const ckks::SecretKey& secret,
                                                               std::span<const PaddedBlock> sources,
                                                               std::span<const Move> moves);

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_RENEWAL_H_
