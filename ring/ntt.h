// SPDX-License-Identifier: Apache-2.0
// NttTables: the negacyclic number-theoretic transform of Z_q[X]/(X^n + 1), with SEAL's
// conventions: psi is the smallest primitive 2n-th root of unity, output index j is the value at
// psi^(2 brv(j) + 1), where brv reverses log2(n) bits. (Merged Cooley-Tukey / Gentleman-Sande:
// Longa and Naehrig 2016; lazy butterflies: Harvey 2014.)
#ifndef HEFT_RING_NTT_H_
#define HEFT_RING_NTT_H_

#include <cstdint>
#include <span>

#include "base/aligned.h"
#include "ring/kernels.h"
#include "ring/modulus.h"

namespace heft::ring {

// NttTables: the roots of one prime. Immutable. Requires n a power of two >= 4 and q = 1 (mod 2n).
class NttTables {
 public:
  NttTables(const Modulus& modulus, uint32_t n);

  const Modulus& modulus() const { return modulus_; }
  uint32_t n() const { return n_; }
  uint32_t root() const { return root_; }

  // forward: psi^brv(i) and its Shoup quotient, i in [0, n), padded so that a full vector may be
  // read at any i.
  const uint32_t* forward() const { return forward_.data(); }
  const uint32_t* forward_quotient() const { return forward_quotient_.data(); }
  // inverse: psi^-brv(i).
  const uint32_t* inverse() const { return inverse_.data(); }
  const uint32_t* inverse_quotient() const { return inverse_quotient_.data(); }
  // n_inverse, n_inverse_root: n^-1, and n^-1 times the last stage's root.
  ShoupFactor n_inverse() const { return n_inverse_; }
  ShoupFactor n_inverse_root() const { return n_inverse_root_; }

  // Forward, in place: in [0, 4q), out [0, q).
  void Forward(std::span<uint32_t> a) const;
  // ForwardTiled: into tiles of kTile values, `tile_stride` apart; destroys `a`. In [0, 4q), out
  // [0, q).
  void ForwardTiled(uint32_t* out, size_t tile_stride, std::span<uint32_t> a) const;
  // Inverse, in place: in [0, 2q), out [0, q).
  void Inverse(std::span<uint32_t> a) const;

 private:
  Modulus modulus_;
  uint32_t n_;
  uint32_t root_;
  AlignedVector<uint32_t> forward_, forward_quotient_, inverse_, inverse_quotient_;
  ShoupFactor n_inverse_, n_inverse_root_;
};

// ReverseBits: the lowest `bits` bits in reverse order.
uint32_t ReverseBits(uint32_t value, int bits);

// GaloisPermutation: the effect of X -> X^element on NTT values. `element` is odd, below 2n
// (docs/design.md, "Conventions").
Permutation GaloisPermutation(uint32_t n, uint32_t element);

}  // namespace heft::ring

#endif  // HEFT_RING_NTT_H_
