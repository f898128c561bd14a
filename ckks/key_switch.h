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
class Digits {
 public:
  Digits(const Context& context, const ring::RnsPoly& poly);
  size_t limbs() const { return limbs_; }
  // `limb` in [0, limbs()], the special prime last.
  const uint32_t* at(size_t digit, size_t limb) const {
    return data_.data() + (limb * limbs_ + digit) * n_;
  }

 private:
  size_t n_, limbs_;
  AlignedVector<uint32_t> data_;
};

// Three parts to two.
absl::Status Relinearise(const Context& context, Ciphertext* out, const Ciphertext& a,
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

// The sum over i of factors[i] * image of `a` under elements[i]. Factors are extended plaintexts of
// equal scale with as many limbs as `a`. The scale becomes the product; rescale afterwards.
absl::Status SumGaloisProducts(const Context& context, Ciphertext* out, const Ciphertext& a,
                               std::span<const uint32_t> elements,
                               std::span<const Plaintext> factors, const EvaluationKeys& keys);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_KEY_SWITCH_H_
