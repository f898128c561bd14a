// SPDX-License-Identifier: Apache-2.0
// ZeroSample: encryptions of zero that somebody without the secret key can make from a switching
// key alone, to hide what the parts of a ciphertext tell to its decryptor beside its message.
//
// Digit j of a switching key is (b, a) = -(a s + e) + P t, where P t is there modulo q_j alone:
// modulo all other primes it is what a public key is. So u (b, a) + (e0, e1) with a fresh ternary u
// encrypts zero modulo lower primes and the special one, and whoever does not know u, though he
// knew s, sees a u + e1, a sample of ring-LWE with the secret u. What decryption leaves, e1 s - u e
// + e0, tells of u too; e0 is uniform in 2^21 values, some thousand times as large as the rest.
#ifndef HEFT_CKKS_ZERO_SAMPLE_H_
#define HEFT_CKKS_ZERO_SAMPLE_H_

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/context.h"
#include "ckks/keys.h"
#include "ring/rns_poly.h"

namespace heft::ckks {

class ZeroSample {
 public:
  // Of the last digit of `key`, which is for `element` (1: no automorphism); for `limbs` limbs and
  // the special prime. kFailedPrecondition where that digit is of one of these limbs.
  static absl::StatusOr<ZeroSample> Of(const Context& context, const SwitchKey& key,
                                       uint32_t element, size_t limbs);

  // Hide: a fresh encryption of zero joins both parts of a ciphertext in the extended basis
  // (`limbs` limbs and the special prime's). What it decrypts to changes by less than 2^21.
  void Hide(const Context& context, ring::RnsPoly* part0, ring::RnsPoly* part1, Csprng& rng) const;

 private:
  ZeroSample() = default;
  ring::RnsPoly b_, a_;
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_ZERO_SAMPLE_H_
