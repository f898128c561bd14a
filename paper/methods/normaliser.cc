// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/chebyshev.h"
#include "ckks/inner_product.h"
#include "ckks/key_switch.h"
#include "inverse_sqrt/approximation.h"
#include "paper/methods/normalisation.h"
#include "paper/methods/normalisation_internal.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;
using ckks::Context;
using ckks::Params;

// a * b at the lower of their levels, relinearised and rescaled.
absl::StatusOr<Ciphertext> Product(const Context& context, const Ciphertext& a, const Ciphertext& b,
                                   const ckks::EvaluationKeys& keys) {
  const size_t limbs = std::min(a.limbs(), b.limbs());
  Ciphertext left, right;
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &left, a, limbs));
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &right, b, limbs));
  HEFT_RETURN_IF_ERROR(ckks::Multiply(context, &left, left, right));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(context, &left, left, keys));
  return left;
}

// x + shift, with x in `range`: a tighter bound on the message than AddConstant's.
absl::StatusOr<Ciphertext> Shifted(const Context& context, const Ciphertext& x, double shift,
                                   const Interval& range) {
  Ciphertext out;
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(context, &out, x, shift));
  out.noise.message = std::max(std::abs(range.lo + shift), std::abs(range.hi + shift));
  return out;
}

// log2 of the scale of what Goldschmidt's iteration makes of z, from that of y = slope s + offset.
double GoldschmidtLogScale(const Params& params, size_t s_limbs, double log_s, double log_z,
                           double log_y, int iterations) {
  auto log_prime = [&](size_t index) { return std::log2(Prime(params, index)); };
  size_t limbs = s_limbs - 2;
  double x = log_s + log_y - log_prime(limbs);
  double h = log_y + 1;
  for (int i = 1;; ++i) {
    const double r = x + h - log_prime(limbs - 1);
    const double next = log_prime(limbs - 2);
    if (i == iterations) return h + log_z - log_prime(limbs - 1) + r - next - 1;
    x += r - next;
    h += r - next;
    limbs -= 2;
  }
}

// The scale of y for which it is `target`. The scales of x and h part from the primes' by a factor
// of three more an iteration, so the first one is solved for from the last; logarithms make that
// linear.
double GoldschmidtStartScale(const Params& params, size_t s_limbs, double s_scale, double z_scale,
                             double target, int iterations) {
  auto log_scale = [&](double log_y) {
    return GoldschmidtLogScale(params, s_limbs, std::log2(s_scale), std::log2(z_scale), log_y,
                               iterations);
  };
  const double at_zero = log_scale(0);
  return std::exp2((std::log2(target) - at_zero) / (log_scale(1) - at_zero));
}

// The deviation of a slot's error, and the value without it.
double TakeError(Ciphertext* c) {
  const double error = c->noise.error / c->scale;
  c->noise.error = 0;
  return error;
}

}  // namespace

absl::StatusOr<Normaliser> Normaliser::Create(std::shared_ptr<const Context> context,
                                              const NormalisationPlan& plan,
                                              const ckks::EvaluationKeys* keys) {
  HEFT_RETURN_IF_ERROR(CheckKeys(plan.keys, *keys));
  Normaliser normaliser;
  normaliser.context_ = std::move(context);
  normaliser.plan_ = plan;
  normaliser.keys_ = keys;
  return normaliser;
}

absl::Status Normaliser::CheckInput(const Ciphertext& z) const {
  if (z.size() == 2 && z.limbs() == plan_.input_limbs &&
      std::abs(z.scale - plan_.input_scale) <= 1e-6 * plan_.input_scale) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("z with ", z.size(), " parts, ", z.limbs(), " limbs and scale 2^",
                   std::log2(z.scale), "; this normalisation was planned for ", plan_.input_limbs,
                   " limbs and scale 2^", std::log2(plan_.input_scale)));
}

absl::StatusOr<Normalised> Normaliser::Apply(const Ciphertext& z) const {
  HEFT_RETURN_IF_ERROR(CheckInput(z));
  Normalised out;
  Ciphertext& s = out.squared_norm;
  s = z;
  const double z_error = TakeError(&s);
  HEFT_RETURN_IF_ERROR(ckks::Square(*context_, &s, s));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(*context_, &s, s, *keys_));
  for (uint32_t k = 1; k < plan_.gamma; k *= 2) {
    const uint32_t fold[] = {1, ckks::RotationElement(context_->params(), k)};
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(*context_, &s, s, fold, *keys_));
  }
  HEFT_ASSIGN_OR_RETURN(const Factors factors, MakeFactors(&s, z_error));
  HEFT_ASSIGN_OR_RETURN(out.z, ApplyFactors(factors, z));
  return out;
}

absl::StatusOr<Fused> Normaliser::ApplyToCoordinates(std::span<const Ciphertext> z) const {
  if (z.size() != plan_.gamma) {
    return absl::InvalidArgumentError(
        absl::StrCat(z.size(), " coordinates given, gamma is ", plan_.gamma));
  }
  std::vector<Ciphertext> exact(z.begin(), z.end());
  double z_error = 0;
  for (Ciphertext& c : exact) {
    HEFT_RETURN_IF_ERROR(CheckInput(c));
    z_error = std::max(z_error, TakeError(&c));
  }
  Fused out;
  Ciphertext& s = out.squared_norm;
  HEFT_ASSIGN_OR_RETURN(s, ckks::InnerProduct(*context_, exact, exact));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(*context_, &s, s, *keys_));
  HEFT_ASSIGN_OR_RETURN(const Factors factors, MakeFactors(&s, z_error));
  out.z.resize(z.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(z.size(), [&](size_t r) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(out.z[r], ApplyFactors(factors, z[r]));
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<Normaliser::Factors> Normaliser::MakeFactors(Ciphertext* s, double z_error) const {
  const NormalisationSpec& spec = plan_.spec;
  // The errors of z and s go through f as a whole: products that are bounded one by one would
  // count the same error again and again. What each product adds of its own is counted there.
  const double s_error = TakeError(s);
  s->noise.message = spec.Range().hi;
  Factors factors;
  if (spec.method == NormalisationMethod::kGoldschmidt) {
    HEFT_ASSIGN_OR_RETURN(factors, MakeGoldschmidtFactors(*s));
  } else if (spec.method == NormalisationMethod::kPolynomial) {
    HEFT_ASSIGN_OR_RETURN(factors, MakePolynomialFactors(*s));
  }
  factors.error = ckks::Combine(factors.error, ErrorThroughNorm(spec, z_error, s_error));
  s->noise.error = s->scale * ckks::Combine(2 * std::sqrt(spec.Range().hi) * z_error, s_error);
  return factors;
}

absl::StatusOr<Normaliser::Factors> Normaliser::MakePolynomialFactors(const Ciphertext& s) const {
  const std::vector<Polynomial>& stages = plan_.spec.approximation.stages;
  const Params& params = context_->params();
  HEFT_ASSIGN_OR_RETURN(const LastStage last, LastStage::Of(stages.back()));
  const bool factored = last.factored.degree != 0;
  Ciphertext argument = s;
  Interval range = plan_.spec.Range();
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool is_last = i + 1 == stages.size();
    if (is_last && factored) break;
    const Interval image = ImageOf(stages[i], range);
    const size_t limbs = argument.limbs() - ckks::ChebyshevLevels(stages[i].Degree());
    double scale;
    if (is_last) {
      scale = plan_.output_scale * Prime(params, limbs - 1) / plan_.input_scale;
    } else if (i + 2 == stages.size() && factored) {
      scale = last.ArgumentScale(params, limbs, plan_.input_scale, plan_.output_scale);
    } else {
      scale = Prime(params, limbs - 1) / HalfWidth(image);
    }
    HEFT_ASSIGN_OR_RETURN(
        argument,
        ckks::EvaluateChebyshev(*context_, argument, ChebyshevCoefficients(stages[i], range),
                                Centre(range), HalfWidth(range), limbs, scale, *keys_));
    argument.noise.message = std::max(std::abs(image.lo), std::abs(image.hi));
    range = image;
  }
  Factors out;
  if (!factored) {
    out.factors.push_back(std::move(argument));
    return out;
  }
  const FactoredPolynomial& f = last.factored;
  out.leading = f.leading;
  if (f.degree != 2) {
    HEFT_ASSIGN_OR_RETURN(Ciphertext linear, Shifted(*context_, argument, f.d, range));
    out.factors.push_back(std::move(linear));
  }
  if (f.degree == 1) return out;
  HEFT_ASSIGN_OR_RETURN(Ciphertext quadratic, Shifted(*context_, argument, f.a, range));
  const double square = quadratic.noise.message * quadratic.noise.message;
  HEFT_RETURN_IF_ERROR(ckks::Square(*context_, &quadratic, quadratic));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(*context_, &quadratic, quadratic, *keys_));
  HEFT_RETURN_IF_ERROR(ckks::AddConstant(*context_, &quadratic, quadratic, f.b));
  quadratic.noise.message = std::max(std::abs(f.b), std::abs(square + f.b));
  out.factors.push_back(std::move(quadratic));
  return out;
}

absl::StatusOr<Normaliser::Factors> Normaliser::MakeGoldschmidtFactors(const Ciphertext& s) const {
  const Goldschmidt& g = plan_.spec.goldschmidt;
  const Interval& range = g.interval;
  const double y_scale = GoldschmidtStartScale(context_->params(), s.limbs(), s.scale,
                                               plan_.input_scale, plan_.output_scale, g.iterations);
  const double line[] = {g.offset + g.slope * Centre(range), g.slope * HalfWidth(range)};
  HEFT_ASSIGN_OR_RETURN(Ciphertext h,
                        ckks::EvaluateChebyshev(*context_, s, line, Centre(range), HalfWidth(range),
                                                s.limbs() - 1, y_scale, *keys_));
  const double y_error = TakeError(&h);
  HEFT_ASSIGN_OR_RETURN(Ciphertext x, Product(*context_, s, h, *keys_));
  GoldschmidtError error(g, y_error, TakeError(&x));
  h.scale *= 2;  // h = y / 2
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(*context_, &h, h, x.limbs()));
  for (int i = 1;; ++i) {
    HEFT_ASSIGN_OR_RETURN(Ciphertext r, Product(*context_, x, h, *keys_));
    ckks::Negate(*context_, &r, r);
    HEFT_RETURN_IF_ERROR(ckks::AddConstant(*context_, &r, r, 1.5));
    const double r_error = TakeError(&r);
    r.noise.message = 1.5;
    if (i == g.iterations) {
      error.Step(r_error, 0, 0);
      h.noise.message = 1 / std::sqrt(range.lo) / 2;
      return Factors{{std::move(h), std::move(r)}, 2, error.OfLength()};
    }
    HEFT_ASSIGN_OR_RETURN(x, Product(*context_, x, r, *keys_));
    HEFT_ASSIGN_OR_RETURN(h, Product(*context_, h, r, *keys_));
    const double x_error = TakeError(&x);
    error.Step(r_error, x_error, TakeError(&h));
  }
}

absl::StatusOr<Ciphertext> Normaliser::ApplyFactors(const Factors& factors,
                                                    const Ciphertext& z) const {
  Ciphertext out = z;
  if (factors.factors.empty()) return out;  // deferred
  for (const Ciphertext& factor : factors.factors) {
    HEFT_ASSIGN_OR_RETURN(out, Product(*context_, out, factor, *keys_));
  }
  // The leading coefficient: its size is a matter of scale, its sign is not.
  out.scale /= std::abs(factors.leading);
  if (factors.leading < 0) ckks::Negate(*context_, &out, out);
  out.noise = {1, ckks::Combine(out.noise.error, factors.error * out.scale)};
  return out;
}

double DeferredCosine(double dot, double squared_norm_z, double squared_norm_g) {
  if (!(squared_norm_z > 0) || !(squared_norm_g > 0)) return 0;
  return dot / std::sqrt(squared_norm_z * squared_norm_g);
}

}  // namespace heft::paper
