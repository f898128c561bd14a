// SPDX-License-Identifier: Apache-2.0
// Digits: the decomposition of a polynomial, its products with a switching key and their division
// by the special prime. key_switch.h uses them, and loops that fuse a key switch with other steps
// (fusion/).
//
// A polynomial is decomposed into one digit for each data prime, or for each pair of them, lifted
// centred (docs/design.md, "Key switching"). The digits do not depend on the automorphism.
#ifndef HEFT_CKKS_DIGITS_H_
#define HEFT_CKKS_DIGITS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "ckks/context.h"
#include "ckks/keys.h"
#include "ring/rns_poly.h"

namespace heft::ckks {

// Digits: the digits of a polynomial in NTT form, modulo all of its primes and the special one,
// also in NTT form. They fit keys of the same digit sizes.
class Digits {
 public:
  // `sizes`: limbs of each digit, one or two; empty: one limb for each digit.
  Digits(const Context& context, const ring::RnsPoly& poly, std::span<const uint8_t> sizes = {});
  size_t limbs() const { return limbs_; }
  size_t count() const { return count_; }
  // limb: all digits modulo one prime, in the layout of ring::Kernels::switch_products; `limb` in
  // [0, limbs()], the special prime last.
  const uint32_t* limb(size_t limb) const { return data_.data() + limb * count_ * n_; }

 private:
  size_t n_, limbs_, count_ = 0;
  AlignedVector<uint32_t> data_;
};

// SwitchSum: both parts of a sum in the extended basis: the data primes of a level and the special
// prime, which is last.
struct SwitchSum {
  SwitchSum(size_t n, size_t limbs)
      : part{ring::RnsPoly(n, limbs + 1), ring::RnsPoly(n, limbs + 1)} {}
  ring::RnsPoly part[2];
};

// ExtendedPrime: the prime index of a limb of the extended basis over `limbs` data primes.
size_t ExtendedPrime(const Context& context, size_t limb, size_t limbs);

// TimesSpecial: P * a, which the division by the special prime P turns into a. For one data prime,
// or for all.
void TimesSpecial(const Context& context, uint32_t* out, const uint32_t* a, size_t limb);
ring::RnsPoly TimesSpecial(const Context& context, const ring::RnsPoly& a);

// SwitchLimb: sum_j digit_j key_j modulo one prime of the extended basis, for both parts of the
// key. Permute the result by the key's automorphism. The key must have the digits' sizes and at
// least their limbs.
void SwitchLimb(const Context& context, uint32_t* out0, uint32_t* out1, const Digits& digits,
                const SwitchKey& key, size_t limb);

// CloseSwitch: both parts of sum / P + plain; with `rescale` also divided by the last level.
// nullptr in `plain` means zero. Destroys `sum`.
std::vector<ring::RnsPoly> CloseSwitch(const Context& context, SwitchSum& sum,
                                       const ring::RnsPoly* const plain[2], bool rescale);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_DIGITS_H_
