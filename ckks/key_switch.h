// SPDX-License-Identifier: Apache-2.0
// Operations that switch keys: relinearisation, rotations, conjugation, and sums of them.
//
// A polynomial is decomposed into one digit a data prime, lifted centred (DESIGN, section 2). The
// digits do not depend on the automorphism, so several rotations of one ciphertext share them
// (hoisting), and a sum of rotations shares the division by the special prime too (double hoisting:
// Bossuat et al., EUROCRYPT 2021, section 4).
//
// `out` may be an input; on error it is unchanged. kFailedPrecondition where a key is missing,
// kInvalidArgument where a ciphertext has three parts.
#ifndef HEFT_CKKS_KEY_SWITCH_H_
#define HEFT_CKKS_KEY_SWITCH_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"

namespace heft::ckks {

// The digits of part 1 of a ciphertext, in NTT form modulo all of its primes and the special one.
// They fit keys of the same digit sizes.
class Digits {
 public:
  // `sizes` empty: one limb a digit.
  Digits(const Context& context, const ring::RnsPoly& poly, std::span<const uint8_t> sizes = {});
  size_t limbs() const { return limbs_; }
  size_t count() const { return count_; }
  // All digits modulo one prime, in the layout of ring::Kernels::switch_products; `limb` in
  // [0, limbs()], the special prime last.
  const uint32_t* limb(size_t limb) const { return data_.data() + limb * count_ * n_; }

 private:
  size_t n_, limbs_, count_ = 0;
  AlignedVector<uint32_t> data_;
};

// Three parts to two.
absl::Status Relinearise(const Context& context, Ciphertext* out, const Ciphertext& a,
                         const EvaluationKeys& keys);

// Relinearise, then Rescale, with fewer transforms.
absl::Status RelineariseAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                   const EvaluationKeys& keys);

// Slot i takes slot i + steps.
absl::Status Rotate(const Context& context, Ciphertext* out, const Ciphertext& a, int64_t steps,
                    const EvaluationKeys& keys);
absl::Status Conjugate(const Context& context, Ciphertext* out, const Ciphertext& a,
                       const EvaluationKeys& keys);
absl::Status ApplyGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                         uint32_t element, const EvaluationKeys& keys);

// All of `elements` applied to one ciphertext, decomposed once. Element 1 copies.
absl::StatusOr<std::vector<Ciphertext>> ApplyGaloisHoisted(const Context& context,
                                                           const Ciphertext& a,
                                                           std::span<const uint32_t> elements,
                                                           const EvaluationKeys& keys);

// The sum over `elements` of the images of `a`; 1 stands for `a` itself. One decomposition, one
// division by the special prime.
absl::Status SumGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys);
// The same, then Rescale, with fewer transforms.
absl::Status SumGaloisAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                 std::span<const uint32_t> elements, const EvaluationKeys& keys);

// The sum over i of factors[i] * image of `a` under elements[i]. Factors are extended plaintexts of
// equal scale with as many limbs as `a`. The scale becomes the product; rescale afterwards.
absl::Status SumGaloisProducts(const Context& context, Ciphertext* out, const Ciphertext& a,
                               std::span<const uint32_t> elements,
                               std::span<const Plaintext> factors, const EvaluationKeys& keys);

// ---- Building blocks, for loops that fuse a key switch with what follows it (matching.cc).

// Both parts of a sum in the extended basis: the data primes of a level, the special prime last.
struct SwitchSum {
  SwitchSum(size_t n, size_t limbs)
      : part{ring::RnsPoly(n, limbs + 1), ring::RnsPoly(n, limbs + 1)} {}
  ring::RnsPoly part[2];
};

// The prime index of a limb of the extended basis over `limbs` data primes.
size_t ExtendedPrime(const Context& context, size_t limb, size_t limbs);

// sum_j digit_j key_j modulo one prime of the extended basis. The result is to be permuted by the
// key's automorphism.
void SwitchLimb(const Context& context, uint32_t* out0, uint32_t* out1, const Digits& digits,
                const SwitchKey& key, size_t limb);

// Both parts of sum / P + plain; with `rescale`, that divided by the last data prime. A nullptr in
// `plain` stands for zero. `sum` is consumed.
std::vector<ring::RnsPoly> CloseSwitch(const Context& context, SwitchSum& sum,
                                       const ring::RnsPoly* const plain[2], bool rescale);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_KEY_SWITCH_H_
