// SPDX-License-Identifier: Apache-2.0
// Key switching: relinearisation, rotations, conjugation, and sums of them.
//
// Several rotations of one ciphertext share its digits (hoisting: digits.h), and a sum of rotations
// shares the division by the special prime too (double hoisting: Bossuat et al., EUROCRYPT 2021,
// section 4; docs/design.md, "Key switching").
//
// `out` may be an input; on error it is unchanged. kFailedPrecondition if a key is missing,
// kInvalidArgument if a ciphertext has three parts.
#ifndef HEFT_CKKS_KEY_SWITCH_H_
#define HEFT_CKKS_KEY_SWITCH_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"

namespace heft::ckks {

// Relinearise: three parts to two; a ciphertext of two parts is copied.
absl::Status Relinearise(const Context& context, Ciphertext* out, const Ciphertext& a,
                         const EvaluationKeys& keys);

// RelineariseAndRescale: both in one call, with fewer transforms.
absl::Status RelineariseAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                   const EvaluationKeys& keys);

// SumImagesAndRescale: the sum over j of the image of a[j], of three parts, under elements[j], then
// Rescale. Each a[j] is relinearised, and switched once more unless its element is 1; all share the
// last division. kInvalidArgument unless there are equally many elements and ciphertexts, and all
// ciphertexts have the same scale and limbs.
absl::Status SumImagesAndRescale(const Context& context, Ciphertext* out,
                                 std::span<const Ciphertext> a, std::span<const uint32_t> elements,
                                 const EvaluationKeys& keys);

// Rotate: slot i takes slot i + steps.
absl::Status Rotate(const Context& context, Ciphertext* out, const Ciphertext& a, int64_t steps,
                    const EvaluationKeys& keys);
// Conjugate: the complex conjugate of every slot.
absl::Status Conjugate(const Context& context, Ciphertext* out, const Ciphertext& a,
                       const EvaluationKeys& keys);
// ApplyGalois: the image under X -> X^element, `element` odd and below 2n. Element 1 copies.
absl::Status ApplyGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                         uint32_t element, const EvaluationKeys& keys);

// ApplyGaloisHoisted: the images of one ciphertext under all `elements`, with one decomposition.
// Element 1 copies.
absl::StatusOr<std::vector<Ciphertext>> ApplyGaloisHoisted(const Context& context,
                                                           const Ciphertext& a,
                                                           std::span<const uint32_t> elements,
                                                           const EvaluationKeys& keys);

// SumGalois: the sum over `elements` of the images of `a`; 1 means `a` itself. One decomposition,
// one division by the special prime.
absl::Status SumGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys);
// SumGaloisAndRescale: the same, then Rescale, with fewer transforms.
absl::Status SumGaloisAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                 std::span<const uint32_t> elements, const EvaluationKeys& keys);

// SumGaloisProducts: the sum over i of factors[i] * image of `a` under elements[i]. Factors are
// extended plaintexts of equal scale with as many limbs as `a`. The result's scale is the product
// of the scales; rescale afterwards.
absl::Status SumGaloisProducts(const Context& context, Ciphertext* out, const Ciphertext& a,
                               std::span<const uint32_t> elements,
                               std::span<const Plaintext> factors, const EvaluationKeys& keys);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_KEY_SWITCH_H_
