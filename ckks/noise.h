// SPDX-License-Identifier: Apache-2.0
// Noise: the estimator. Every plaintext and ciphertext carries an estimate that the operations
// propagate, so that the error of a decrypted slot is known before anything is decrypted.
//
// Model: errors are independent and equally strong in all slots. That holds for centred digits
// (docs/design.md, "The noise"). The estimate uses the largest message, so it bounds rather than
// predicts; tests hold it to at most 8 times the error measured.
#ifndef HEFT_CKKS_NOISE_H_
#define HEFT_CKKS_NOISE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ckks/params.h"

namespace heft::ckks {

// Noise: of one plaintext or ciphertext.
struct Noise {
  double message = 1;  // largest |slot| of the message, in slot units (after division by the scale)
  double error = 0;    // root mean square of |slot error|, in integer units (before that division)
};

// EncodingError and the like: standard deviations of one slot's error, in integer units.
double EncodingError(const Params& params);   // rounding to integers
double RoundingError(const Params& params);   // the division by a prime of a two-part ciphertext
double SymmetricError(const Params& params);  // a fresh secret-key encryption
double PublicKeyError(const Params& params);  // a fresh public-key encryption

// DigitSizes: how many limbs each digit of a key switch takes, the lowest limbs first: one or two.
// What lies beyond a ciphertext's limbs is cut off.
using DigitSizes = std::vector<uint8_t>;

// KeySwitchError: one key switch of a polynomial with `limbs` limbs, rounding not included; `sizes`
// empty: digits of one limb each.
double KeySwitchError(const Params& params, size_t limbs, std::span<const uint8_t> sizes = {});
// DigitsWithin: digits of two primes where the error of one such digit alone stays within `error`.
DigitSizes DigitsWithin(const Params& params, size_t limbs, double error);

// Combine: the square root of the sum of squares.
double Combine(double a, double b);

// AddNoise: of a sum or difference.
Noise AddNoise(const Noise& a, const Noise& b);
// MultiplyNoise, SquareNoise: of the product, from operands at scales a_scale and b_scale.
Noise MultiplyNoise(const Noise& a, double a_scale, const Noise& b, double b_scale);
Noise SquareNoise(const Noise& a, double scale);

// SlotErrorBound: a bound on the slot error |decrypted - true|, in slot units, that holds for all
// slots at once with probability 1 - 2^-20 in the model above.
double SlotErrorBound(const Params& params, const Noise& noise, double scale);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_NOISE_H_
