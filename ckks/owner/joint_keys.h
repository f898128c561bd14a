// SPDX-License-Identifier: Apache-2.0
// Joint keys: public keys of a secret that is a sum, s = s_1 + ... + s_n. Each owner draws one s_i
// and shows it to no one (C. Mouchet, J. R. Troncoso-Pastoriza, J.-P. Bossuat and J.-P.
// Hubaux, Multiparty homomorphic encryption from ring-learning-with-errors, PETS 2021).
//
// All owners use the same uniform parts, which are expanded from common seeds. A public key, a
// Galois key and a ring switch are linear in the secret. So each owner makes one for s_i
// (secret_key.h, with `common`), and the sum is the key for s, with n errors. Relinearisation takes
// two rounds, with an ephemeral u_i of each owner and sums over all owners, for each digit:
//
//   first    h0 = -(a u + e0) + P s,   h1 = -(a s + e1)
//   second   b_i = s_i h0 - u_i h1 - (a' s_i + e2_i),   b = -(a' s + e) + P s^2,
//
// with e = e2 + s e0 - u e1. The paper's second round has two polynomials and the key's uniform
// part is h1. Here a' comes from a seed that depends on h0 and h1, so b_i is one sample more of
// ring-LWE under s_i, whatever the other owners chose h0 and h1 to be; and the key is seeded as
// all others are.
#ifndef HEFT_CKKS_OWNER_JOINT_KEYS_H_
#define HEFT_CKKS_OWNER_JOINT_KEYS_H_

#include <cstdint>

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/context.h"
#include "ckks/keys.h"
#include "ckks/owner/secret_key.h"
#include "ckks/owner/secret_share.h"

namespace heft::ckks {

// AddPart: `sum` += `part`, of the same seed and limbs.
void AddPart(const Context& context, const PublicKey& part, PublicKey* sum);
void AddPart(const Context& context, const SeededSwitchKey& part, SeededSwitchKey* sum);

// RelinearisationPart: of the first round: h0 and h1 of one owner, or their sums.
struct RelinearisationPart {
  SeededSwitchKey h0, h1;
};
RelinearisationPart MakeRelinearisationPart(const Context& context, const SecretKey& own,
                                            const SecretKey& ephemeral, size_t limbs, Csprng& rng,
                                            const Seed& common);
// FinishRelinearisationPart: b_i of the second round, from the sums of the first. `common` must
// follow from all messages of the first round.
SeededSwitchKey FinishRelinearisationPart(const Context& context, const SecretKey& own,
                                          const SecretKey& ephemeral,
                                          const RelinearisationPart& sums, Csprng& rng,
                                          const Seed& common);

// JointRelinearisationError: the standard deviation of a coefficient of e, over that of the key of
// one owner.
double JointRelinearisationError(const Params& params, uint32_t owners);

// ShareOfSum: the share of owner `owner` of `owners`, if all of them open: lambda times the share
// is `own`. kInvalidArgument as CheckSharing.
absl::StatusOr<SecretShare> ShareOfSum(const Context& context, const SecretKey& own, uint32_t owner,
                                       uint32_t owners);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OWNER_JOINT_KEYS_H_
