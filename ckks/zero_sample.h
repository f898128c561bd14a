// SPDX-License-Identifier: Apache-2.0
// ZeroSample: encryptions of zero from a switching key, without the secret key. They hide what the
// parts of a ciphertext reveal to its decryptor besides the message.
//
// Digit j of a switching key is (b, a) = -(a s + e) + P t, where P t exists only modulo q_j: modulo
// all other primes it has the form of a public key. So u (b, a) + (e0, e1) with a fresh ternary u
// encrypts zero modulo lower primes and the special one. Without u, even with s, the second part u
// a + e1 is a sample of ring-LWE with the secret u. The result of decryption, e1 s - u e + e0, also
// depends on u; e0 is uniform in 2^21 values, some thousand times as large as the rest.
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
  // Of: from the last digit of `key`, which is for `element` (1: no automorphism), for `limbs`
  // limbs and the special prime. kFailedPrecondition if that digit is one of these limbs.
  static absl::StatusOr<ZeroSample> Of(const Context& context, const SwitchKey& key,
                                       uint32_t element, size_t limbs);

  // Hide: adds a fresh encryption of zero to both parts of a ciphertext in the extended basis
  // (`limbs` limbs and the special prime's). The decrypted value changes by less than 2^21.
  void Hide(const Context& context, ring::RnsPoly* part0, ring::RnsPoly* part1, Csprng& rng) const;

 private:
  ZeroSample() = default;
  ring::RnsPoly b_, a_;
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_ZERO_SAMPLE_H_
