// SPDX-License-Identifier: Apache-2.0
// PreciseEncoder: as Encoder, for plaintexts of more bits than a double has: slots, roots and
// transform in pairs of doubles, some 106 bits (Dekker, "A floating-point technique for extending
// the available precision", 1971). Ten times the work of Encoder's: for levels of two primes, and
// where a slot holds what is large beside what is to be kept of it.
#ifndef HEFT_CKKS_PRECISE_ENCODER_H_
#define HEFT_CKKS_PRECISE_ENCODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/encoder.h"

namespace heft::ckks {

// PreciseSlots: n/2 slots, each the sum of both, |low| at most half a unit in the last place of
// |high|.
struct PreciseSlots {
  PreciseSlots() = default;
  explicit PreciseSlots(size_t slots) : high(slots, 0), low(slots, 0) {}
  std::vector<Complex> high, low;
};

// PreciseEncoder: immutable; safe to share between threads.
class PreciseEncoder {
 public:
  explicit PreciseEncoder(std::shared_ptr<const Context> context);
  ~PreciseEncoder();
  PreciseEncoder(const PreciseEncoder&) = delete;
  PreciseEncoder& operator=(const PreciseEncoder&) = delete;

  // Encode: n/2 finite slots. kInvalidArgument for another number, and for slots so large that
  // coefficients may not fit into half the modulus, or into 100 bits.
  absl::StatusOr<Plaintext> Encode(const PreciseSlots& slots, double scale, size_t limbs) const;
  // Decode: n/2 slots; coefficients below 2^100.
  PreciseSlots Decode(const Plaintext& plaintext) const;

 private:
  struct Tables;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_PRECISE_ENCODER_H_
