// SPDX-License-Identifier: Apache-2.0
// Arithmetic: operations on ciphertexts that need no key. `out` may be an input. On error `out` is
// unchanged. Two operands must have the same number of limbs, and for sums the same scale;
// otherwise kInvalidArgument says which one differs (drop limbs or rescale first).
#ifndef HEFT_CKKS_ARITHMETIC_H_
#define HEFT_CKKS_ARITHMETIC_H_

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::ckks {

// CheckCiphertext: CheckShape (ckks/shape.h), and a scale below the modulus. Readers of foreign
// bytes must call it before any arithmetic. kInvalidArgument gives the reason.
absl::Status CheckCiphertext(const Context& context, const Ciphertext& a);

// Add, Subtract, AddPlain: sums and differences; operands may have two and three parts.
absl::Status Add(const Context& context, Ciphertext* out, const Ciphertext& a, const Ciphertext& b);
absl::Status Subtract(const Context& context, Ciphertext* out, const Ciphertext& a,
                      const Ciphertext& b);
absl::Status AddPlain(const Context& context, Ciphertext* out, const Ciphertext& a,
                      const Plaintext& b);
// Negate: the negative of every slot.
void Negate(const Context& context, Ciphertext* out, const Ciphertext& a);

// AddConstant: adds the real constant `value` to every slot; exact up to rounding, without
// encoding. kInvalidArgument if value * scale does not fit.
absl::Status AddConstant(const Context& context, Ciphertext* out, const Ciphertext& a,
                         double value);

// MultiplyPlain: slot-wise products. The scale becomes the product of the scales; rescale
// afterwards.
absl::Status MultiplyPlain(const Context& context, Ciphertext* out, const Ciphertext& a,
                           const Plaintext& b);
// Multiply: two parts times two parts gives three; relinearise (key_switch.h), or decrypt all
// three.
absl::Status Multiply(const Context& context, Ciphertext* out, const Ciphertext& a,
                      const Ciphertext& b);
// Square: a product with itself, with a better noise estimate.
absl::Status Square(const Context& context, Ciphertext* out, const Ciphertext& a);
// MultiplyInteger: every slot times the integer `factor`; the scale stays.
void MultiplyInteger(const Context& context, Ciphertext* out, const Ciphertext& a, int64_t factor);
// MultiplyByMonomial: the product with the monomial X^(n/2): slot j times i (-1)^j, exact, free of
// noise and of scale.
void MultiplyByMonomial(const Context& context, Ciphertext* out, const Ciphertext& a);
// MultiplyByRootOfMinusTwo: the product with X^(n/4) + X^(3n/4): every slot times i sqrt(2), exact
// and free of scale. (No power of X is i in all slots.)
void MultiplyByRootOfMinusTwo(const Context& context, Ciphertext* out, const Ciphertext& a);
// The same for an encoded vector, which may be extended.
void MultiplyByRootOfMinusTwo(const Context& context, Plaintext* plain);

// Rescale: divides by the last level's primes (ckks/params.h), one after another, with rounding.
// Drops these primes, and divides the scale by them. kInvalidArgument if one level is left.
absl::Status Rescale(const Context& context, Ciphertext* out, const Ciphertext& a);
// DropLimbs: keeps the first `limbs` limbs, without division; the scale stays.
absl::Status DropLimbs(const Context& context, Ciphertext* out, const Ciphertext& a, size_t limbs);

// DivideByLast: `in` is one polynomial with one more limb than `out`; divides by the prime of the
// last limb, rounding. `last_prime` is that limb's prime index. Destroys `in`.
void DivideByLast(const Context& context, ring::RnsPoly* out, ring::RnsPoly& in, size_t last_prime);
// DivideCopyByLast: the same without changing `in`.
void DivideCopyByLast(const Context& context, ring::RnsPoly* out, const ring::RnsPoly& in,
                      size_t last_prime);
// DivideBySpecialAndLast: the same for the last two limbs at once. `in` has two more limbs than
// `out`: modulo the data prime of its position, and modulo the special prime. Equals dividing by
// the special prime and then rescaling, with half the transforms.
void DivideBySpecialAndLast(const Context& context, ring::RnsPoly* out, ring::RnsPoly& in);
// DivideByLimbs: divides by the primes of the last `count` limbs, the last one first.
void DivideByLimbs(const Context& context, ring::RnsPoly* poly, size_t count);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_ARITHMETIC_H_
