// SPDX-License-Identifier: Apache-2.0
// Plaintext and Ciphertext: values. Both are kept in NTT form.
#ifndef HEFT_CKKS_CIPHERTEXT_H_
#define HEFT_CKKS_CIPHERTEXT_H_

#include <vector>

#include "ckks/noise.h"
#include "ring/rns_poly.h"

namespace heft::ckks {

// Plaintext: an encoded vector; poly = scale * message + rounding.
struct Plaintext {
  ring::RnsPoly poly;
  double scale = 1;
  Noise noise;
  // True if the last limb is modulo the special prime, for sums of rotations with factors.
  bool extended = false;

  size_t limbs() const { return poly.limbs() - (extended ? 1 : 0); }
};

// Ciphertext: c_0 + c_1 s (+ c_2 s^2) = scale * message + error.
struct Ciphertext {
  std::vector<ring::RnsPoly> parts;  // two, or three after a product without relinearisation
  double scale = 1;
  Noise noise;

  size_t size() const { return parts.size(); }
  size_t limbs() const { return parts.empty() ? 0 : parts[0].limbs(); }
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_CIPHERTEXT_H_
