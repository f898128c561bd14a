// SPDX-License-Identifier: Apache-2.0
#include "fusion/normalise.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/errors.h"

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
  return ckks::RelineariseAndRescale(context, out, *out, keys);
}

}  // namespace

absl::StatusOr<Ciphertext> SquaredNorm(const Context& context, const Ciphertext& z, double s_bound,
                                       std::span<const std::vector<uint32_t>> folds,
                                       const EvaluationKeys& keys) {
  // Its error matters little (a normalising polynomial is flat, and a key owner averages over the
  // slots), so it is folded after rescaling, which is cheaper. For the noise estimate: the error of
  // the sum is 2 |z| times that of a coordinate, so for each square 2 |z| / sqrt(gamma), not twice
  // the largest coordinate.
  double gamma = 1;
  for (const std::vector<uint32_t>& fold : folds) gamma *= static_cast<double>(fold.size());
  Ciphertext s = z;
  s.noise.message = std::sqrt(s_bound / gamma);
  HEFT_RETURN_IF_ERROR(MultiplyRescale(context, &s, s, s, keys));
  for (const std::vector<uint32_t>& fold : folds) {
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &s, s, fold, keys));
  }
  s.noise.message = s_bound;
  s.noise.error *= kKeyMargin;
  return s;
}

absl::StatusOr<NormFactors> MakeNormFactors(const Context& context, const Ciphertext& s,
                                            const FactoredPolynomial& f,
                                            const EvaluationKeys& keys) {
  if (f.degree != 2 && f.degree != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("normalisation by a polynomial of degree ", f.degree, ": 2 or 3 supported"));
  }
  NormFactors out;
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &out.quadratic, s, f.a));
  HEFT_RETURN_IF_ERROR(
      MultiplyRescale(context, &out.quadratic, out.quadratic, out.quadratic, keys));
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &out.quadratic, out.quadratic, f.b));
  if (f.degree == 3) HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &out.linear, s, f.d));
  return out;
}

absl::StatusOr<Ciphertext> ApplyNormFactors(const Context& context, const NormFactors& factors,
                                            const Ciphertext& z, const FactoredPolynomial& f,
                                            const EvaluationKeys& keys) {
  Ciphertext out;
  if (f.degree == 3) {
    HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &out, z, factors.linear.limbs()));
    HEFT_RETURN_IF_ERROR(MultiplyRescale(context, &out, factors.linear, out, keys));
  } else {
    HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &out, z, factors.quadratic.limbs()));
  }
  HEFT_RETURN_IF_ERROR(MultiplyRescale(context, &out, factors.quadratic, out, keys));
  // The leading coefficient: the scale absorbs its absolute value, but not its sign.
  out.scale /= std::abs(f.leading);
  if (f.leading < 0) ckks::Negate(context, &out, out);
  return out;
}

void SetNormalisedNoise(const Instance& instance, const Ciphertext& z, const Ciphertext& s,
                        Ciphertext* out) {
  const double error = NormalisedError(instance.params(), instance.plan, z.noise.error / z.scale,
                                       s.noise.error / s.scale);
  out->noise = {1, error * out->scale};
}

absl::StatusOr<Normalised> NormaliseCiphertext(const Instance& instance, const Ciphertext& z,
                                               const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan::Normalisation& plan = instance.plan.normalisation;
  Normalised out;
  HEFT_ASSIGN_OR_RETURN(out.squared_norm,
                        SquaredNorm(context, z, plan.interval_hi, plan.folds, keys));
  HEFT_ASSIGN_OR_RETURN(const NormFactors factors,
                        MakeNormFactors(context, out.squared_norm, plan.polynomial, keys));
  HEFT_ASSIGN_OR_RETURN(out.z, ApplyNormFactors(context, factors, z, plan.polynomial, keys));
  SetNormalisedNoise(instance, z, out.squared_norm, &out.z);
  return out;
}

}  // namespace heft
