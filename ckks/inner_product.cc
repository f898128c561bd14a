// SPDX-License-Identifier: Apache-2.0
#include "ckks/inner_product.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/threads.h"
#include "ckks/operation_counts.h"
#include "ckks/shape.h"
#include "ring/kernels.h"

namespace heft::ckks {
namespace {

absl::Status CheckOperands(const Context& context, std::span<const Ciphertext> a,
                           std::span<const Ciphertext> b) {
  if (a.empty() || a.size() != b.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an inner product of ", a.size(), " and ", b.size(), " ciphertexts"));
  }
  for (const std::span<const Ciphertext> side : {a, b}) {
    for (const Ciphertext& c : side) {
      if (c.size() != 2 || c.limbs() != a[0].limbs() ||
          std::abs(c.scale - side[0].scale) > 1e-9 * side[0].scale) {
        return absl::InvalidArgumentError(
            "the operands of an inner product need two parts, equal limbs and equal scales");
      }
    }
  }
  if (std::log2(a[0].scale * b[0].scale) < context.params().Bits(a[0].limbs())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "an inner product's scale exceeds the modulus: rescale an operand first");
}

}  // namespace

absl::StatusOr<Ciphertext> InnerProduct(const Context& context, std::span<const Ciphertext> a,
                                        std::span<const Ciphertext> b) {
  HEFT_RETURN_IF_ERROR(CheckOperands(context, a, b));
  for ([[maybe_unused]] const Ciphertext& c : a) HEFT_DCHECK_OK(CheckShape(context, c));
  for ([[maybe_unused]] const Ciphertext& c : b) HEFT_DCHECK_OK(CheckShape(context, c));
  const size_t limbs = a[0].limbs();
  Ciphertext out;
  for (int p = 0; p < 3; ++p) out.parts.emplace_back(context.n(), limbs);
  ParallelFor(limbs, [&](size_t l) {
    for (size_t p = 0; p < 3; ++p) {
      std::vector<const uint32_t*> left, right;
      for (size_t i = 0; i < a.size(); ++i) {
        for (size_t q = 0; q < 2; ++q) {
          if (p < q || p - q > 1) continue;
          left.push_back(a[i].parts[q].limb(l).data());
          right.push_back(b[i].parts[p - q].limb(l).data());
        }
      }
      ring::ActiveKernels().inner_product(out.parts[p].limb(l).data(), left.data(), right.data(),
                                          left.size(), context.n(), context.modulus(l));
    }
  });
  out.scale = a[0].scale * b[0].scale;
  out.noise = {0, 0};
  const bool squares = a.data() == b.data();
  for (size_t i = 0; i < a.size(); ++i) {
    out.noise = AddNoise(out.noise,
                         squares ? SquareNoise(a[i].noise, a[i].scale)
                                 : MultiplyNoise(a[i].noise, a[i].scale, b[i].noise, b[i].scale));
  }
  CountOperations({.additions = a.size() - 1, .ciphertext_products = a.size()});
  return out;
}

}  // namespace heft::ckks
