// SPDX-License-Identifier: Apache-2.0
#include "fusion/normalise.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using ckks::Context;
using ckks::EvaluationKeys;

// a * b, relinearised and rescaled.
absl::Status MultiplyRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                             const Ciphertext& b, const EvaluationKeys& keys) {
  if (&a == &b) {
    HEFT_RETURN_IF_ERROR(ckks::Square(context, out, a));
  } else {
    HEFT_RETURN_IF_ERROR(ckks::Multiply(context, out, a, b));
  }
  HEFT_RETURN_IF_ERROR(ckks::Relinearise(context, out, *out, keys));
  return ckks::Rescale(context, out, *out);
}

}  // namespace

absl::StatusOr<Normalised> NormaliseCiphertext(const Context& context, const Ciphertext& z,
                                               const FactoredPolynomial& f, double s_bound,
                                               std::span<const std::vector<uint32_t>> folds,
                                               const EvaluationKeys& keys) {
  if (f.degree != 2 && f.degree != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("normalisation by a polynomial of degree ", f.degree, ": 2 or 3 supported"));
  }
  Normalised out;
  // s: folded before rescaling, where key-switching noise is small against the scale.
  Ciphertext s;
  HEFT_RETURN_IF_ERROR(ckks::Square(context, &s, z));
  HEFT_RETURN_IF_ERROR(ckks::Relinearise(context, &s, s, keys));
  for (const std::vector<uint32_t>& fold : folds) {
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &s, s, fold, keys));
  }
  HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &s, s));
  s.noise.message = s_bound;
  out.squared_norm = s;

  Ciphertext quadratic;
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &quadratic, s, f.a));
  HEFT_RETURN_IF_ERROR(MultiplyRescale(context, &quadratic, quadratic, quadratic, keys));
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &quadratic, quadratic, f.b));

  Ciphertext linear;
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &linear, z, s.limbs()));
  if (f.degree == 3) {
    HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &s, s, f.d));
    HEFT_RETURN_IF_ERROR(MultiplyRescale(context, &linear, s, linear, keys));
  } else {
    HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &linear, linear, quadratic.limbs()));
  }
  HEFT_RETURN_IF_ERROR(MultiplyRescale(context, &out.z, quadratic, linear, keys));
  // The leading coefficient: its size is a matter of scale, its sign is not.
  out.z.scale /= std::abs(f.leading);
  if (f.leading < 0) ckks::Negate(context, &out.z, out.z);
  out.z.noise.message = 1;
  return out;
}

}  // namespace heft
