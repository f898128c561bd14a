// SPDX-License-Identifier: Apache-2.0
// BoundedEncoder: an Encoder for secret slots with a known bound: no branch, error or estimate
// depends on a value. With levels of two primes, plaintexts may have more bits than a double.
// Slots, roots and transform are then pairs of doubles, about 106 bits (ckks/double_double.h), for
// ten times the work.
#ifndef HEFT_CKKS_BOUNDED_ENCODER_H_
#define HEFT_CKKS_BOUNDED_ENCODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/encoder.h"

namespace heft::ckks {

struct DoubleDouble;

// WideSlots: n/2 slots, each high + low, |low| at most half a unit in the last place of |high|. An
// encoder that computes in doubles leaves `low` empty, and does not read it.
struct WideSlots {
  std::vector<Complex> high, low;
};

// BoundedEncoder: immutable; safe to share between threads.
class BoundedEncoder {
 public:
  // `wide`: in pairs of doubles.
  BoundedEncoder(std::shared_ptr<const Context> context, bool wide);
  // Wide if a level has two primes.
  explicit BoundedEncoder(std::shared_ptr<const Context> context);
  ~BoundedEncoder();
  BoundedEncoder(const BoundedEncoder&) = delete;
  BoundedEncoder& operator=(const BoundedEncoder&) = delete;

  bool wide() const { return wide_ != nullptr; }
  WideSlots NewSlots() const;  // zeros

  // Encode: n/2 slots, with real and imaginary parts of at most `bound` in absolute value.
  // kInvalidArgument for another number of slots, and if such slots might have coefficients beyond
  // half the modulus, or of more than 60 bits (wide: 100). Most coefficients are sqrt(n) times
  // smaller than that. A coefficient of more than 51 bits is rounded to a double.
  absl::StatusOr<Plaintext> Encode(const WideSlots& slots, double bound, double scale,
                                   size_t limbs) const;
  // Decode: n/2 slots. Coefficients of more than 53 bits (wide: 106) are rounded.
  WideSlots Decode(const Plaintext& plaintext) const;

 private:
  template <typename Real>
  struct Transform;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<const Transform<double>> narrow_;
  std::unique_ptr<const Transform<DoubleDouble>> wide_;
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_BOUNDED_ENCODER_H_
