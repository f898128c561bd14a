// SPDX-License-Identifier: Apache-2.0
// RnsPoly: a polynomial of n coefficients (or NTT values) modulo each of several primes, one limb
// after another. The primes are the first ones of the parameters.
#ifndef HEFT_RING_RNS_POLY_H_
#define HEFT_RING_RNS_POLY_H_

#include <cstdint>
#include <span>

#include "base/aligned.h"
#include "base/check.h"

namespace heft::ring {

// RnsPoly: a value; copies copy the residues.
class RnsPoly {
 public:
  RnsPoly() = default;
  // The values are uninitialised.
  RnsPoly(size_t n, size_t limbs) : n_(n), limbs_(limbs), data_(n * limbs) {}

  size_t n() const { return n_; }
  size_t limbs() const { return limbs_; }
  std::span<uint32_t> limb(size_t i) {
    HEFT_DCHECK(i < limbs_, "a limb that there is");
    return {data_.data() + i * n_, n_};
  }
  std::span<const uint32_t> limb(size_t i) const {
    HEFT_DCHECK(i < limbs_, "a limb that there is");
    return {data_.data() + i * n_, n_};
  }
  std::span<uint32_t> values() { return data_; }
  std::span<const uint32_t> values() const { return data_; }

  // Truncate: drops all but the first `limbs` limbs; at most as many as there are.
  void Truncate(size_t limbs) {
    HEFT_DCHECK(limbs <= limbs_, "a polynomial is cut, not extended");
    limbs_ = limbs;
    data_.resize(n_ * limbs);
  }

 private:
  size_t n_ = 0;
  size_t limbs_ = 0;
  AlignedVector<uint32_t> data_;
};

}  // namespace heft::ring

#endif  // HEFT_RING_RNS_POLY_H_
