// SPDX-License-Identifier: Apache-2.0
// Noise: the estimator. Every plaintext and ciphertext has an estimate, which the operations
// update, so that the error of a decrypted slot is known before decryption.
//
// Model: errors are independent and equally strong in all slots. That is true for centred digits
// (docs/design.md, "The noise"). The estimate uses the largest message, so it is a bound and not a
// prediction; tests check that it is at most 8 times the measured error.
#ifndef HEFT_CKKS_NOISE_H_
#define HEFT_CKKS_NOISE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ckks/params.h"

namespace heft::ckks {

// Noise: the estimate of one plaintext or ciphertext.
struct Noise {
  double message = 1;  // largest |slot| of the message, in slot units (after division by the scale)
  double error = 0;    // root mean square of |slot error|, in integer units (before that division)
};

// EncodingError and the like: standard deviations of one slot's error, in integer units.
double EncodingError(const Params& params);   // rounding to integers
double RoundingError(const Params& params);   // the division by a prime of a two-part ciphertext
double SymmetricError(const Params& params);  // a fresh secret-key encryption
double PublicKeyError(const Params& params);  // a fresh public-key encryption

// DigitSizes: the number of limbs, one or two, of each digit of a key switch, the lowest limbs
// first. Entries beyond a ciphertext's limbs are ignored.
using DigitSizes = std::vector<uint8_t>;

// KeySwitchError: one key switch of a polynomial with `limbs` limbs, without rounding; `sizes`
// empty: digits of one limb each.
double KeySwitchError(const Params& params, size_t limbs, std::span<const uint8_t> sizes = {});
// DigitsWithin: uses digits of two primes if the error of one such digit alone is within `error`.
DigitSizes DigitsWithin(const Params& params, size_t limbs, double error);

// Combine: the square root of the sum of squares.
double Combine(double a, double b);

// AddNoise: the noise of a sum or difference.
Noise AddNoise(const Noise& a, const Noise& b);
// MultiplyNoise, SquareNoise: the noise of the product of operands at scales a_scale and b_scale.
Noise MultiplyNoise(const Noise& a, double a_scale, const Noise& b, double b_scale);
Noise SquareNoise(const Noise& a, double scale);

// SlotErrorBound: a bound on the slot error |decrypted - true|, in slot units. In the model above
// it holds for all slots at once with probability 1 - 2^-20.
double SlotErrorBound(const Params& params, const Noise& noise, double scale);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_NOISE_H_
