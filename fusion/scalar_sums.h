// SPDX-License-Identifier: Apache-2.0
// Many sums of ciphertexts times integers at once: the projection of the SIMD encoding.
#ifndef HEFT_FUSION_SCALAR_SUMS_H_
#define HEFT_FUSION_SCALAR_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::internal {

// sums[r] += sum over d of weights[r * stride + d] * columns[d], for parts and error estimate; the
// caller sets the scales. All are two-part ciphertexts with the same limbs. Uses all threads.
void AddScalarSums(const ckks::Context& context, std::span<ckks::Ciphertext> sums,
                   std::span<const ckks::Ciphertext> columns, const int64_t* weights,
                   size_t stride);

}  // namespace heft::internal

#endif  // HEFT_FUSION_SCALAR_SUMS_H_
