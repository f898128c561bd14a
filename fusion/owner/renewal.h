// SPDX-License-Identifier: Apache-2.0
// The key owner's part of a renewal (fusion/renewal.h). The values that it decrypts look like
// random pads, and its outputs are freshly encrypted. None of its actions or errors depends on a
// decrypted value. So a server that sends chosen ciphertexts learns nothing from errors or
// refusals.
#ifndef HEFT_FUSION_OWNER_RENEWAL_H_
#define HEFT_FUSION_OWNER_RENEWAL_H_

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "ckks/owner/secret_share.h"
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

// With a shared key each owner of a set T gives a part, and the sums of all parts are the answer.
// For source ciphertext (c0, c1) and each ciphertext of a target, owner i gives
//
//   o_i = lambda_i s_i c1 + P encode(M_i) + w_i     M_i uniform in [-R, R], w_i modulo P.
//   h_i = -(a lambda_i s_i + e_i) - encode(M_i at its new places).
//
// The masks M_i are fresh. They are pads, as the server's. c0 + sum o_i decodes to the padded
// values plus all masks. Encoded at their new places, and with sum h_i added, they are an
// encryption of the padded values alone. So the owner who combines, and any t - 1 owners together
// with the server and its pads, see values that the masks of one more owner hide as pads do. w_i
// hides the residue that the encryption of zero adds below P, and needs no flood. All owners derive
// the uniform a from `reference`. A second part for one reference tells an error of encryption.
//
// The answer errs by t encryptions and 2 t + 3 encodings, and t divisions by P: for five owners a
// quarter of the variance that an addition of a template makes.
struct RenewalPart {
  // By source and ciphertext, in the extended basis; of a source that nothing moves from: none.
  std::vector<std::vector<ring::RnsPoly>> opened;
  std::vector<std::vector<ring::RnsPoly>> hidden;  // by target and ciphertext
};
// RenewalTargets: the moves into each target.
using RenewalTargets = std::span<const std::vector<Move>>;

// MakeRenewalPart: by one owner. `reference`: a digest that follows from the request and the set,
// and is used once. Errors as RenewBlock, and of ckks::TermOf.
absl::StatusOr<RenewalPart> MakeRenewalPart(const Instance& instance,
                                            const ckks::SecretShare& share,
                                            const ckks::OwnerSet& set,
                                            std::span<const PaddedBlock> sources,
                                            RenewalTargets targets, const Hash& reference);
// CheckRenewalPart: kDataLoss for a part of another form than these sources and targets have.
absl::Status CheckRenewalPart(const Instance& instance, const RenewalPart& part, size_t sources,
                              RenewalTargets targets);
// CombineRenewal: all targets, from the parts of all owners of the set. Errors as RenewBlock and
// CheckRenewalPart.
absl::StatusOr<std::vector<std::vector<ckks::SeededCiphertext>>> CombineRenewal(
    const Instance& instance, std::span<const PaddedBlock> sources, RenewalTargets targets,
    std::span<const RenewalPart> parts, const Hash& reference);

}  // namespace heft

#endif  // HEFT_FUSION_OWNER_RENEWAL_H_
