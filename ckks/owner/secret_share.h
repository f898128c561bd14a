// SPDX-License-Identifier: Apache-2.0
// SecretShare: a secret key that no owner holds alone. The secret is shared by Shamir's scheme
// (CACM 22(11), 1979) modulo each prime, in NTT form, at the points 1 ... owners. An opening takes
// `threshold` owners, a named set T of them: owner i gives the partial opening
//
//   p_i = lambda_i s_i c_1 + e_i   with   sum over T of lambda_i s_i = s,
//
// and c_0 + sum p_i = c_0 + c_1 s + sum e_i is the plaintext. The factor lambda_i multiplies the
// share and never the noise, so the sum's noise is sqrt(|T|) times that of one part. All other
// owners of T together know the rest of the sum, so each e_i floods as if it alone protected the
// key (Mouchet et al., PETS 2021). Like all threshold decryptions without proofs this is for
// ciphertexts that were made as they should be: an opening of chosen ciphertexts tells the key
// (SECURITY.md).
#ifndef HEFT_CKKS_OWNER_SECRET_SHARE_H_
#define HEFT_CKKS_OWNER_SECRET_SHARE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/csprng.h"
#include "base/secure.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/owner/flooding.h"
#include "ckks/owner/secret_key.h"

namespace heft::ckks {

// Sharing: among how many owners, and how many of them open.
inline constexpr uint32_t kMaxOwners = 5;
struct Sharing {
  uint32_t owners = 0;
  uint32_t threshold = 0;
  bool operator==(const Sharing&) const = default;
};
// CheckSharing: kInvalidArgument unless 2 <= threshold <= owners <= kMaxOwners.
absl::Status CheckSharing(const Sharing& sharing);

// OwnerSet: the owners of one opening, ascending. CheckOwnerSet: kInvalidArgument unless it has
// exactly `threshold` different owners of the sharing.
using OwnerSet = std::vector<uint32_t>;
absl::Status CheckOwnerSet(const Sharing& sharing, const OwnerSet& set);

// SecretShare: one owner's share, modulo all primes, the special one included. In locked memory,
// wiped when destroyed.
class SecretShare {
 public:
  // Create: all residues zero, for a reader to fill.
  static absl::StatusOr<SecretShare> Create(const Context& context, uint32_t owner);

  uint32_t owner() const { return owner_; }
  size_t primes() const { return primes_; }
  std::span<const uint32_t> residues(size_t prime) const {
    return {residues_.data() + prime * n_, n_};
  }
  std::span<uint32_t> residues(size_t prime) { return {residues_.data() + prime * n_, n_}; }
  operator SecretView() const { return {residues_.span(), n_}; }  // NOLINT: of a term of a secret

 private:
  SecretShare() = default;
  uint32_t owner_ = 0;  // the point, from 1
  size_t n_ = 0, primes_ = 0;
  SecureVector<uint32_t> residues_;
};

// ShareSecret: a share for each owner, with fresh uniform polynomials: any `threshold` - 1 of them
// are uniform, whatever the secret.
absl::StatusOr<std::vector<SecretShare>> ShareSecret(const Context& context,
                                                     const SecretKey& secret,
                                                     const Sharing& sharing, Csprng& rng);

// Reshare: shares of lambda_i s_i, the contribution of `share`'s owner to the secret if the owners
// of `set` act together. If each owner of `set` does so, the sums of what each receives are new
// shares of the same secret (AddShare), independent of the old ones (Desmedt and Jajodia, 1997).
// The new sharing may have other numbers.
absl::StatusOr<std::vector<SecretShare>> Reshare(const Context& context, const SecretShare& share,
                                                 const Sharing& old, const OwnerSet& set,
                                                 const Sharing& next, Csprng& rng);
// AddShare: `sum` += `share`, of the same owner.
void AddShare(const Context& context, const SecretShare& share, SecretShare* sum);

// LagrangeFactor: lambda of `owner` in `set`, at zero, modulo q.
uint32_t LagrangeFactor(const ring::Modulus& q, uint32_t owner, const OwnerSet& set);

// TermOf: lambda_i s_i, the owner's term of the secret in this set. The terms of all owners of the
// set add up to the secret. A value that is linear in the secret is the sum of the values for the
// terms. kInvalidArgument for an owner outside `set`.
absl::StatusOr<SecretShare> TermOf(const Context& context, const SecretShare& share,
                                   const OwnerSet& set);

// PartiallyDecrypt: p_i, with fresh noise from the system's generator. `options.parts` is taken
// from `set`. Errors of CheckFloodingRoom; kInvalidArgument for an owner outside `set`;
// kFailedPrecondition for a ciphertext of degree two.
absl::StatusOr<ring::RnsPoly> PartiallyDecrypt(const Context& context, const Ciphertext& ciphertext,
                                               const SecretShare& share, const OwnerSet& set,
                                               FloodingOptions options);

// CombineParts: the plaintext, from the parts of all owners of one set, with its estimate of noise.
// kInvalidArgument for parts that do not have the ciphertext's shape.
absl::StatusOr<Plaintext> CombineParts(const Context& context, const Ciphertext& ciphertext,
                                       std::span<const ring::RnsPoly> parts,
                                       const FloodingOptions& options);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OWNER_SECRET_SHARE_H_
