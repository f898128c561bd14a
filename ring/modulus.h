// SPDX-License-Identifier: Apache-2.0
// Modulus: arithmetic modulo one prime q < 2^30. Lazy values stay below 4q < 2^32.
#ifndef HEFT_RING_MODULUS_H_
#define HEFT_RING_MODULUS_H_

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace heft::ring {

// kMaxPrimeBits: no prime has more bits, so that 4q fits into 32 bits (Harvey, "Faster arithmetic
// for number-theoretic transforms", 2014).
inline constexpr int kMaxPrimeBits = 30;
inline constexpr int kMinPrimeBits = 10;

// ShoupFactor: w in [0, q) with floor(w * 2^32 / q), for products by a constant (Shoup).
struct ShoupFactor {
  uint32_t value = 0;
  uint32_t quotient = 0;
};

// Modulus: a prime with the constants that the kernels need. Immutable.
class Modulus {
 public:
  // Requires 2^9 < q < 2^30, odd. Primality is checked by Params, once.
  explicit Modulus(uint32_t q);

  uint32_t value() const { return q_; }
  int bits() const { return bits_; }
  // barrett: floor(2^(2 bits) / q), for Barrett reduction of a product of two reduced residues.
  uint32_t barrett() const { return barrett_; }
  // two32, one: factors for reducing 64-bit sums, 2^32 mod q and 1.
  ShoupFactor two32() const { return two32_; }
  ShoupFactor one() const { return one_; }
  // lazy_products: how many products of two reduced residues may be summed in 64 bits.
  int lazy_products() const { return lazy_products_; }

  // Add, Sub, Negate, Multiply: in [0, q), out [0, q).
  uint32_t Add(uint32_t a, uint32_t b) const {
    const uint32_t s = a + b;
    return s >= q_ ? s - q_ : s;
  }
  uint32_t Sub(uint32_t a, uint32_t b) const { return a >= b ? a - b : a + q_ - b; }
  // Negate works by mask: compilers make a branch of the obvious condition, and residues may be
  // secret.
  uint32_t Negate(uint32_t a) const { return (q_ - a) & (0 - static_cast<uint32_t>(a != 0)); }
  uint32_t Multiply(uint32_t a, uint32_t b) const { return Reduce(static_cast<uint64_t>(a) * b); }
  // Reduce: any 64-bit value, out [0, q). Without a division, whose time would depend on the value.
  uint32_t Reduce(uint64_t a) const {
    const uint32_t high = MultiplyLazy(static_cast<uint32_t>(a >> 32), two32_);
    const uint32_t low = MultiplyLazy(static_cast<uint32_t>(a), one_);
    return Multiply(high + low, one_);  // a sum below 4q
  }
  // ReduceSigned: any signed 64-bit value, out [0, q).
  uint32_t ReduceSigned(int64_t a) const {
    const uint64_t minus = static_cast<uint64_t>(a >> 63);  // all ones below zero
    const uint32_t r = Reduce((static_cast<uint64_t>(a) ^ minus) - minus);
    const uint32_t mask = static_cast<uint32_t>(minus);
    return (Negate(r) & mask) | (r & ~mask);
  }
  uint32_t Power(uint32_t base, uint64_t exponent) const;
  // Inverse of a != 0 modulo q.
  uint32_t Inverse(uint32_t a) const { return Power(a, q_ - 2); }

  // Shoup: w in [0, q).
  ShoupFactor Shoup(uint32_t w) const {
    return {w, static_cast<uint32_t>((static_cast<uint64_t>(w) << 32) / q_)};
  }
  // MultiplyLazy: x any 32-bit value, out [0, 2q).
  uint32_t MultiplyLazy(uint32_t x, ShoupFactor w) const {
    const uint32_t hi = static_cast<uint32_t>((static_cast<uint64_t>(x) * w.quotient) >> 32);
    return x * w.value - hi * q_;
  }
  // Multiply by a constant: x any 32-bit value, out [0, q).
  uint32_t Multiply(uint32_t x, ShoupFactor w) const {
    const uint32_t r = MultiplyLazy(x, w);
    return r >= q_ ? r - q_ : r;
  }

  friend bool operator==(const Modulus& a, const Modulus& b) { return a.q_ == b.q_; }

 private:
  uint32_t q_;
  int bits_;
  uint32_t barrett_;
  ShoupFactor two32_, one_;
  int lazy_products_;
};

// IsPrime: exact for every 32-bit number.
bool IsPrime(uint32_t n);

// GeneratePrimes: the largest primes p = 1 (mod 2n) of exactly bits[i] bits, distinct, in the order
// of `bits`; equal sizes get descending primes, as in SEAL's CoeffModulus::Create. kInvalidArgument
// if there are not enough.
absl::StatusOr<std::vector<uint32_t>> GeneratePrimes(uint32_t n, const std::vector<int>& bits);

// MinimalPrimitiveRoot: the numerically smallest primitive 2n-th root of unity modulo q (SEAL's
// choice). Requires q = 1 (mod 2n).
uint32_t MinimalPrimitiveRoot(const Modulus& q, uint32_t n);

}  // namespace heft::ring

#endif  // HEFT_RING_MODULUS_H_
