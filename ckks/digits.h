// SPDX-License-Identifier: Apache-2.0
// Digits: the decomposition of a polynomial, its products with a switching key and their division
// by the special prime. The building blocks of key_switch.h, and of loops that fuse a key switch
// with what follows it (fusion/).
//
// A polynomial is decomposed into one digit a data prime, or one for two of them, lifted centred
// (docs/design.md, "Key switching"). The digits do not depend on the automorphism.
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

// Digits: those of a polynomial in NTT form, in NTT form themselves, modulo all of its primes and
// the special one. They fit keys of the same digit sizes.
class Digits {
 public:
  // `sizes`: limbs of each digit, one or two; empty: one limb a digit.
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

// SwitchSum: both parts of a sum in the extended basis, the data primes of a level, the special
// prime last.
struct SwitchSum {
  SwitchSum(size_t n, size_t limbs)
      : part{ring::RnsPoly(n, limbs + 1), ring::RnsPoly(n, limbs + 1)} {}
  ring::RnsPoly part[2];
};

// ExtendedPrime: the prime index of a limb of the extended basis over `limbs` data primes.
size_t ExtendedPrime(const Context& context, size_t limb, size_t limbs);

// TimesSpecial: P * a, which the division by the special prime P turns into a: one data prime, or
// all.
void TimesSpecial(const Context& context, uint32_t* out, const uint32_t* a, size_t limb);
ring::RnsPoly TimesSpecial(const Context& context, const ring::RnsPoly& a);

// SwitchLimb: sum_j digit_j key_j modulo one prime of the extended basis, for both parts of the
// key. The result is to be permuted by the key's automorphism. The key has the digits' sizes and at
// least their limbs.
void SwitchLimb(const Context& context, uint32_t* out0, uint32_t* out1, const Digits& digits,
                const SwitchKey& key, size_t limb);

// CloseSwitch: both parts of sum / P + plain; with `rescale`, that divided by the last level.
// A nullptr in `plain` stands for zero. `sum` is consumed.
std::vector<ring::RnsPoly> CloseSwitch(const Context& context, SwitchSum& sum,
                                       const ring::RnsPoly* const plain[2], bool rescale);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_DIGITS_H_
