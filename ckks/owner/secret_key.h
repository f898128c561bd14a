// SPDX-License-Identifier: Apache-2.0
// SecretKey: the secret key and everything that needs it: key generation, secret-key encryption,
// decryption. This is the library heft::ckks_secret; no server library includes it.
#ifndef HEFT_CKKS_OWNER_SECRET_KEY_H_
#define HEFT_CKKS_OWNER_SECRET_KEY_H_

#include <span>
#include <string_view>
#include <vector>

#include "base/csprng.h"
#include "base/secure.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "ckks/seeded.h"

namespace heft::ckks {

// SecretView: the residues of a secret, or of an owner's term of one (secret_share.h), modulo each
// prime, in NTT form. A view.
struct SecretView {
  std::span<const uint32_t> all;
  size_t n = 0;
  std::span<const uint32_t> residues(size_t prime) const { return all.subspan(prime * n, n); }
};

// SecretKey: a uniform ternary secret, in locked memory, wiped when destroyed. It can be moved, but
// not copied or printed.
class SecretKey {
 public:
  static absl::StatusOr<SecretKey> Generate(const Context& context, Csprng& rng);
  // FromCoefficients: n values in {-1, 0, 1}; kDataLoss for any other value.
  static absl::StatusOr<SecretKey> FromCoefficients(const Context& context, const KeyId& id,
                                                    std::span<const int8_t> coefficients);

  const KeyId& key_id() const { return key_id_; }
  std::span<const int8_t> coefficients() const { return coefficients_.span(); }
  // residues: the NTT of s modulo prime i, the special prime included.
  std::span<const uint32_t> residues(size_t prime) const {
    return {residues_.data() + prime * coefficients_.size(), coefficients_.size()};
  }
  operator SecretView() const {  // NOLINT: a key is a secret
    return {residues_.span(), coefficients_.size()};
  }

 private:
  SecretKey() = default;
  KeyId key_id_{};
  SecureVector<int8_t> coefficients_;
  SecureVector<uint32_t> residues_;
};

// CheckUniformTernary: kDataLoss unless the coefficients, all in {-1, 0, 1}, can be a uniformly
// drawn secret. The number of nonzero coefficients and their sum must be within 7 standard
// deviations of the expected 2n/3 and 0. A uniform secret is refused with a probability below 1e-9
// (Hoeffding's and Bernstein's inequalities, n >= 4096). A secret that is zero, sparse or mostly of
// one sign is detected: security estimates assume uniform ones. The running time reveals nothing,
// and the error only the outcome.
absl::Status CheckUniformTernary(std::span<const int8_t> coefficients, std::string_view what);

// MaskUniform: -(a s + e) with a fresh error e, modulo the primes of `a`, the first ones: an
// encryption of zero with a uniform part that the caller chooses (seal/owner), or an owner's part
// of one.
ring::RnsPoly MaskUniform(const Context& context, const ring::RnsPoly& a, const SecretView& secret,
                          Csprng& rng);

// `common`, of this and the following functions: the seed of the uniform part, on which the owners
// of a joint key agree (joint_keys.h); nullptr: a fresh one.
//
// MakePublicKey: a seeded key.
PublicKey MakePublicKey(const Context& context, const SecretKey& secret, Csprng& rng,
                        const Seed* common = nullptr);

// MakeGaloisKey and the others: a switching key to `secret` for ciphertexts of at most `limbs`
// limbs, 1 to all data primes. MakeGaloisKey: from the image of the secret under X -> X^element.
// MakeRelinearisationKey: from its square. MakeRekeyingKey: from another secret, `old`. From this
// key and `secret`, `old` can be computed. MakeZeroKey: from zero, which switches nothing.
SeededSwitchKey MakeGaloisKey(const Context& context, const SecretKey& secret, uint32_t element,
                              size_t limbs, Csprng& rng, const Seed* common = nullptr);
SeededSwitchKey MakeRelinearisationKey(const Context& context, const SecretKey& secret,
                                       size_t limbs, Csprng& rng);
SeededSwitchKey MakeRekeyingKey(const Context& context, const SecretView& old,
                                const SecretView& secret, size_t limbs, Csprng& rng,
                                const Seed* common = nullptr);
SeededSwitchKey MakeZeroKey(const Context& context, const SecretKey& secret, size_t limbs,
                            Csprng& rng, const Seed& common);

// MakeRingSwitchKey: to the secret `half` of the ring of half the degree, for SplitRing
// (ckks/ring_switch.h). `from` has the degree of `secret` and the primes of `half`; `secret` may be
// of other primes. Its samples are as hard as those of `half`'s ring.
absl::StatusOr<SeededSwitchKey> MakeRingSwitchKey(const Context& from, const SecretKey& secret,
                                                  const SecretKey& half, size_t limbs, Csprng& rng,
                                                  const Seed* common = nullptr);

// EncryptSymmetric: secret-key encryption at the plaintext's level; the plaintext must not be
// extended.
SeededCiphertext EncryptSymmetric(const Context& context, const Plaintext& plaintext,
                                  const SecretKey& secret, Csprng& rng);

// Decrypt: c_0 + c_1 s (+ c_2 s^2). The result contains the noise that IND-CPA-D attacks use
// (SECURITY.md): it must not leave the key owner.
Plaintext Decrypt(const Context& context, const Ciphertext& ciphertext, const SecretKey& secret);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OWNER_SECRET_KEY_H_
