// SPDX-License-Identifier: Apache-2.0
// InnerProduct: sums of products of ciphertexts, which are relinearised once.
#ifndef HEFT_CKKS_INNER_PRODUCT_H_
#define HEFT_CKKS_INNER_PRODUCT_H_

#include <span>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::ckks {

// InnerProduct: the sum over i of a[i] * b[i], slot-wise, in three parts. Operands have two parts
// and equal limbs, and equal scale within each span. Otherwise, and for spans that are empty or of
// different sizes: kInvalidArgument. `a` and `b` may be the same span. Uses all threads.
absl::StatusOr<Ciphertext> InnerProduct(const Context& context, std::span<const Ciphertext> a,
                                        std::span<const Ciphertext> b);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_INNER_PRODUCT_H_
