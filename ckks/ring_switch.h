// SPDX-License-Identifier: Apache-2.0
// Ring switch: from the ring of degree n to the one of half its degree, R' = Z[Y] / (Y^(n/2) + 1)
// with Y = X^2 (docs/design.md, "Two rings"; C. Gentry, S. Halevi, C. Peikert and N. P. Smart, Ring
// switching in BGV-style homomorphic encryption, SCN 2012).
//
// A polynomial is p(X) = even(Y) + X odd(Y). The ciphertext is first switched to a secret s'(X^2),
// whose halves are s' and zero. Then the halves of both parts are ciphertexts of the halves of the
// message under s'. Slot j of the even half is the mean of slots j and j + n/4 of the message; slot
// j of the odd half is half their difference over zeta^(3^j), zeta = exp(i pi / n).
#ifndef HEFT_CKKS_RING_SWITCH_H_
#define HEFT_CKKS_RING_SWITCH_H_

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"

namespace heft::ckks {

// RingHalves: the halves of one ciphertext, with as many limbs and the same scale.
struct RingHalves {
  Ciphertext even, odd;
};

// SplitRing: both halves of `a`, which has two parts and at most `key.limbs()` limbs; one key
// switch. `from` has the degree of `a`, `to` half of it. Both have the same primes, which are the
// first ones of the parameters of `a`. `key` is MakeRingSwitchKey's. kInvalidArgument otherwise.
absl::StatusOr<RingHalves> SplitRing(const Context& from, const Context& to, const Ciphertext& a,
                                     const SwitchKey& key);

// SwitchRing: only the even half: the whole message if its slots j and j + n/4 agree.
absl::StatusOr<Ciphertext> SwitchRing(const Context& from, const Context& to, const Ciphertext& a,
                                      const SwitchKey& key);

// OddFactor: zeta^(3^slot), the factor of the odd half in that slot of the small ring `to`.
Complex OddFactor(const Context& to, uint32_t slot);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_RING_SWITCH_H_
