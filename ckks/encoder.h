// SPDX-License-Identifier: Apache-2.0
// Encoder: vectors of n/2 complex slots <-> plaintext polynomials (CKKS, Cheon et al. 2017). Slot j
// is the value at zeta^(3^j), zeta = exp(i pi / n); coefficients are rounded half away from zero.
// With generator 3 the monomial X^(n/2) multiplies slot j by i (-1)^j.
#ifndef HEFT_CKKS_ENCODER_H_
#define HEFT_CKKS_ENCODER_H_

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::ckks {

// Complex: a slot.
using Complex = std::complex<double>;

// Encoder: immutable; safe to share between threads.
class Encoder {
 public:
  explicit Encoder(std::shared_ptr<const Context> context);

  uint32_t slots() const { return context_->slots(); }

  // Encode: up to n/2 slots; the rest are zero. `limbs` in [1, params.limbs()]; `extended` adds the
  // special prime's limb. kInvalidArgument for NaN, infinity, too many slots, or coefficients that
  // do not fit (below 2^62 and half the modulus; a coefficient is at most the largest |slot| times
  // sqrt(2) scale).
  absl::StatusOr<Plaintext> Encode(std::span<const Complex> slots, double scale, size_t limbs,
                                   bool extended = false) const;
  absl::StatusOr<Plaintext> Encode(std::span<const double> slots, double scale, size_t limbs,
                                   bool extended = false) const;
  // EncodeConstant: the same real value in all slots; one coefficient, exact up to its rounding.
  absl::StatusOr<Plaintext> EncodeConstant(double value, double scale, size_t limbs) const;

  // Decode: n/2 slots.
  std::vector<Complex> Decode(const Plaintext& plaintext) const;

 private:
  // Negacyclic complex transforms of n values in bit-reversed order of the roots, as NttTables.
  void Forward(std::span<Complex> a) const;
  void Inverse(std::span<Complex> a) const;

  std::shared_ptr<const Context> context_;
  std::vector<Complex> roots_;        // zeta^brv(i)
  std::vector<uint32_t> slot_index_;  // of slot j among the n transform values
  std::vector<uint32_t> conjugate_index_;
};

// CentredCoefficients: the plaintext's coefficients, exact integers rounded to double.
std::vector<double> CentredCoefficients(const Context& context, const Plaintext& plaintext);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_ENCODER_H_
