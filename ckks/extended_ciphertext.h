// SPDX-License-Identifier: Apache-2.0
// ExtendedCiphertext: a ciphertext times the special prime P, modulo P too: the result of key
// switches before the division by P. Sums of successive rotations stay in this form; between them
// only part 1 is divided, because the next rotation decomposes it.
#ifndef HEFT_CKKS_EXTENDED_CIPHERTEXT_H_
#define HEFT_CKKS_EXTENDED_CIPHERTEXT_H_

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/digits.h"
#include "ckks/keys.h"

namespace heft::ckks {

// Scale and noise are those after the division, without its rounding.
struct ExtendedCiphertext {
  SwitchSum sum;
  double scale = 1;
  Noise noise;

  size_t limbs() const { return sum.part[0].limbs() - 1; }
};

// SumGaloisProductsExtended: SumGaloisProducts (key_switch.h) for several sets of factors, without
// the division; the images are computed once.
absl::StatusOr<std::vector<ExtendedCiphertext>> SumGaloisProductsExtended(
    const Context& context, const Ciphertext& a, std::span<const uint32_t> elements,
    std::span<const std::span<const Plaintext>> factors, const EvaluationKeys& keys);
// SumGaloisProductsInSteps: the same in baby and giant steps. Factor j * babies.size() + i of a set
// multiplies the image under babies[i]. The result is the sum over giants j of the image under
// giants[j] of the sum of these products over babies i. Both lists begin with 1. Each set of
// factors takes one decomposition, and one key switch for each further giant.
absl::StatusOr<std::vector<ExtendedCiphertext>> SumGaloisProductsInSteps(
    const Context& context, const Ciphertext& a, std::span<const uint32_t> babies,
    std::span<const uint32_t> giants, std::span<const std::span<const Plaintext>> factors,
    const EvaluationKeys& keys);
// SumGalois: as in key_switch.h. `out` may be `a`.
absl::Status SumGalois(const Context& context, ExtendedCiphertext* out, const ExtendedCiphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys);
// AddGalois: adds the images of `a` to `sum`, a different object with as many limbs.
absl::Status AddGalois(const Context& context, ExtendedCiphertext* sum, const ExtendedCiphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys);
// Add: the sum; equal limbs and scale.
absl::Status Add(const Context& context, ExtendedCiphertext* sum, const ExtendedCiphertext& a);
// Subtract: the difference; equal limbs and scale.
absl::Status Subtract(const Context& context, ExtendedCiphertext* difference,
                      const ExtendedCiphertext& a);

// Divide: by P. DivideAndRescale: also by the last level. Both destroy `in`.
void Divide(const Context& context, Ciphertext* out, ExtendedCiphertext& in);
absl::Status DivideAndRescale(const Context& context, Ciphertext* out, ExtendedCiphertext& in);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_EXTENDED_CIPHERTEXT_H_
