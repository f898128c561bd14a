// SPDX-License-Identifier: Apache-2.0
#include "ckks/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ckks/digits.h"
#include "ckks/operation_counts.h"
#include "ckks/shape.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;
using ring::RnsPoly;

// SameScale: equal up to rounding, because scales are products and quotients in different orders.
bool SameScale(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(a, b); }

absl::Status CheckLimbs(size_t a, size_t b) {
  if (a == b) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("operands with ", a, " and ", b,
                                                 " limbs: drop the limbs of the larger one first"));
}

absl::Status CheckSum(size_t a_limbs, size_t b_limbs, double a_scale, double b_scale) {
  HEFT_RETURN_IF_ERROR(CheckLimbs(a_limbs, b_limbs));
  if (SameScale(a_scale, b_scale)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("operands with scales 2^", std::log2(a_scale),
                                                 " and 2^", std::log2(b_scale),
                                                 " cannot be added"));
}

absl::Status CheckProduct(const Context& context, double scale, size_t limbs) {
  const double bits = context.params().Bits(limbs);
  if (std::log2(scale) < bits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the product's scale of 2^", std::log2(scale),
                                                 " exceeds the modulus of ", bits,
                                                 " bits: rescale an operand first"));
}

using Pointwise = void (*)(uint32_t*, const uint32_t*, const uint32_t*, size_t,
                           const ring::Modulus&);

RnsPoly Apply(const Context& context, Pointwise op, const RnsPoly& a, const RnsPoly& b) {
  RnsPoly out(a.n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    op(out.limb(l).data(), a.limb(l).data(), b.limb(l).data(), a.n(), context.modulus(l));
  }
  return out;
}

// Merge: a sum or difference, part by part.
Ciphertext Merge(const Context& context, Pointwise op, bool negate_b, const Ciphertext& a,
                 const Ciphertext& b) {
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_DCHECK_OK(CheckShape(context, b));
  Ciphertext result;
  result.scale = a.scale;
  result.noise = AddNoise(a.noise, b.noise);
  for (size_t p = 0; p < std::max(a.size(), b.size()); ++p) {
    if (p >= b.size()) {
      result.parts.push_back(a.parts[p]);
    } else if (p >= a.size()) {
      RnsPoly part = b.parts[p];
      for (size_t l = 0; negate_b && l < part.limbs(); ++l) {
        ActiveKernels().negate(part.limb(l).data(), part.limb(l).data(), part.n(),
                               context.modulus(l));
      }
      result.parts.push_back(std::move(part));
    } else {
      result.parts.push_back(Apply(context, op, a.parts[p], b.parts[p]));
    }
  }
  return result;
}

}  // namespace

absl::Status CheckCiphertext(const Context& context, const Ciphertext& a) {
  HEFT_RETURN_IF_ERROR(CheckShape(context, a));
  if (std::log2(a.scale) < context.params().Bits(a.limbs())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a ciphertext with scale ", a.scale));
}

absl::Status Add(const Context& context, Ciphertext* out, const Ciphertext& a,
                 const Ciphertext& b) {
  HEFT_RETURN_IF_ERROR(CheckSum(a.limbs(), b.limbs(), a.scale, b.scale));
  *out = Merge(context, ActiveKernels().add, false, a, b);
  CountOperations({.additions = 1});
  return absl::OkStatus();
}

absl::Status Subtract(const Context& context, Ciphertext* out, const Ciphertext& a,
                      const Ciphertext& b) {
  HEFT_RETURN_IF_ERROR(CheckSum(a.limbs(), b.limbs(), a.scale, b.scale));
  *out = Merge(context, ActiveKernels().subtract, true, a, b);
  CountOperations({.additions = 1});
  return absl::OkStatus();
}

absl::Status AddPlain(const Context& context, Ciphertext* out, const Ciphertext& a,
                      const Plaintext& b) {
  HEFT_RETURN_IF_ERROR(CheckSum(a.limbs(), b.limbs(), a.scale, b.scale));
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_DCHECK_OK(CheckShape(context, b));
  Ciphertext result = a;
  result.parts[0] = Apply(context, ActiveKernels().add, a.parts[0], b.poly);
  result.noise = AddNoise(a.noise, b.noise);
  *out = std::move(result);
  CountOperations({.additions = 1});
  return absl::OkStatus();
}

void Negate(const Context& context, Ciphertext* out, const Ciphertext& a) {
  HEFT_DCHECK_OK(CheckShape(context, a));
  if (out != &a) *out = a;
  for (RnsPoly& part : out->parts) {
    for (size_t l = 0; l < part.limbs(); ++l) {
      uint32_t* v = part.limb(l).data();
      ActiveKernels().negate(v, v, part.n(), context.modulus(l));
    }
  }
}

absl::Status AddConstant(const Context& context, Ciphertext* out, const Ciphertext& a,
                         double value) {
  // After a product the scale may exceed 64 bits, so the integer is reduced in floating point. This
  // loses its lowest bits, 53 bits below the value and far below the noise.
  const double integer = std::round(value * a.scale);
  if (!std::isfinite(integer) ||
      std::log2(std::max(std::abs(integer), 1.0)) >= context.params().Bits(a.limbs()) - 1) {
    return absl::InvalidArgumentError(absl::StrCat("the constant ", value, " does not fit"));
  }
  HEFT_DCHECK_OK(CheckShape(context, a));
  if (out != &a) *out = a;
  for (size_t l = 0; l < a.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    const double remainder = std::fmod(integer, static_cast<double>(q.value()));
    const uint32_t residue = q.ReduceSigned(static_cast<int64_t>(remainder));
    for (uint32_t& v : out->parts[0].limb(l)) v = q.Add(v, residue);
  }
  out->noise.message += std::abs(value);
  CountOperations({.constant_additions = 1});
  return absl::OkStatus();
}

absl::Status MultiplyPlain(const Context& context, Ciphertext* out, const Ciphertext& a,
                           const Plaintext& b) {
  HEFT_RETURN_IF_ERROR(CheckLimbs(a.limbs(), b.limbs()));
  HEFT_RETURN_IF_ERROR(CheckProduct(context, a.scale * b.scale, a.limbs()));
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_DCHECK_OK(CheckShape(context, b));
  Ciphertext result;
  result.scale = a.scale * b.scale;
  result.noise = MultiplyNoise(a.noise, a.scale, b.noise, b.scale);
  for (const RnsPoly& part : a.parts) {
    result.parts.push_back(Apply(context, ActiveKernels().multiply, part, b.poly));
  }
  *out = std::move(result);
  CountOperations({.plain_products = 1});
  return absl::OkStatus();
}

absl::Status Multiply(const Context& context, Ciphertext* out, const Ciphertext& a,
                      const Ciphertext& b) {
  if (a.size() != 2 || b.size() != 2) {
    return absl::InvalidArgumentError("only ciphertexts of two parts multiply: relinearise first");
  }
  HEFT_RETURN_IF_ERROR(CheckLimbs(a.limbs(), b.limbs()));
  HEFT_RETURN_IF_ERROR(CheckProduct(context, a.scale * b.scale, a.limbs()));
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_DCHECK_OK(CheckShape(context, b));
  const size_t n = context.n();
  Ciphertext result;
  result.scale = a.scale * b.scale;
  result.noise = MultiplyNoise(a.noise, a.scale, b.noise, b.scale);
  result.parts.push_back(Apply(context, ActiveKernels().multiply, a.parts[0], b.parts[0]));
  result.parts.emplace_back(n, a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    const uint32_t* left[] = {a.parts[0].limb(l).data(), a.parts[1].limb(l).data()};
    const uint32_t* right[] = {b.parts[1].limb(l).data(), b.parts[0].limb(l).data()};
    ActiveKernels().inner_product(result.parts[1].limb(l).data(), left, right, 2, n,
                                  context.modulus(l));
  }
  result.parts.push_back(Apply(context, ActiveKernels().multiply, a.parts[1], b.parts[1]));
  *out = std::move(result);
  CountOperations({.ciphertext_products = 1});
  return absl::OkStatus();
}

absl::Status Square(const Context& context, Ciphertext* out, const Ciphertext& a) {
  const Noise noise = SquareNoise(a.noise, a.scale);
  HEFT_RETURN_IF_ERROR(Multiply(context, out, a, a));
  out->noise = noise;
  return absl::OkStatus();
}

void MultiplyInteger(const Context& context, Ciphertext* out, const Ciphertext& a, int64_t factor) {
  HEFT_DCHECK_OK(CheckShape(context, a));
  if (out != &a) *out = a;
  for (RnsPoly& part : out->parts) {
    for (size_t l = 0; l < part.limbs(); ++l) {
      const ring::Modulus& q = context.modulus(l);
      uint32_t* v = part.limb(l).data();
      ActiveKernels().multiply_scalar(v, v, q.Shoup(q.ReduceSigned(factor)), part.n(), q);
    }
  }
  out->noise.message *= std::abs(static_cast<double>(factor));
  out->noise.error *= std::abs(static_cast<double>(factor));
  CountOperations({.plain_products = 1});
}

void MultiplyByMonomial(const Context& context, Ciphertext* out, const Ciphertext& a) {
  HEFT_DCHECK_OK(CheckShape(context, a));
  if (out != &a) *out = a;
  const size_t half = context.n() / 2;
  // In bit-reversed order the first half holds the roots psi^e with e = 1 modulo 4, where X^(n/2)
  // is psi^(n/2), and the second half those with e = 3 modulo 4, where it is the negative.
  for (RnsPoly& part : out->parts) {
    for (size_t l = 0; l < part.limbs(); ++l) {
      const ring::Modulus& q = context.modulus(l);
      const uint32_t root = context.ntt(l).forward()[1];  // psi^(n/2)
      uint32_t* v = part.limb(l).data();
      ActiveKernels().multiply_scalar(v, v, q.Shoup(root), half, q);
      ActiveKernels().multiply_scalar(v + half, v + half, q.Shoup(q.Negate(root)), half, q);
    }
  }
}

namespace {

// In place, modulo one prime.
void TimesRootOfMinusTwo(const Context& context, uint32_t* v, size_t prime) {
  const size_t quarter = context.n() / 4;
  // At psi^e it is a square root of -2 for e = 1 or 3 modulo 8, its negative for 5 or 7. In
  // bit-reversed order the quarters hold the roots with e = 1, 5, 3, 7 modulo 8.
  const ring::Modulus& q = context.modulus(prime);
  const auto& roots = context.ntt(prime).forward();  // [2], [3]: psi^(n/4), psi^(3n/4)
  const uint32_t root = q.Add(roots[2], roots[3]);
  for (size_t k = 0; k < 4; ++k, v += quarter) {
    const uint32_t factor = k % 2 == 0 ? root : q.Negate(root);
    ActiveKernels().multiply_scalar(v, v, q.Shoup(factor), quarter, q);
  }
}

}  // namespace

void MultiplyByRootOfMinusTwo(const Context& context, Ciphertext* out, const Ciphertext& a) {
  HEFT_DCHECK_OK(CheckShape(context, a));
  if (out != &a) *out = a;
  for (RnsPoly& part : out->parts) {
    for (size_t l = 0; l < part.limbs(); ++l) {
      TimesRootOfMinusTwo(context, part.limb(l).data(), l);
    }
  }
  out->noise.message *= std::sqrt(2.0);
  out->noise.error *= std::sqrt(2.0);
}

void MultiplyByRootOfMinusTwo(const Context& context, Plaintext* plain) {
  const size_t limbs = plain->limbs();
  for (size_t l = 0; l < plain->poly.limbs(); ++l) {
    TimesRootOfMinusTwo(context, plain->poly.limb(l).data(), ExtendedPrime(context, l, limbs));
  }
  plain->noise.message *= std::sqrt(2.0);
  plain->noise.error *= std::sqrt(2.0);
}

namespace {

// Divide: the limbs of `in` except the last. `last` holds the last limb's values and is destroyed.
void Divide(const Context& context, RnsPoly* out, const RnsPoly& in, std::span<uint32_t> last,
            size_t last_prime) {
  HEFT_DCHECK(in.limbs() >= 2 && out->limbs() + 1 == in.limbs(), "one limb is divided away");
  HEFT_DCHECK(in.n() == context.n() && out->n() == context.n(), "polynomials of this degree");
  HEFT_DCHECK(last_prime == in.limbs() - 1 || last_prime == context.special_index(),
              "the last limb's prime is that of its position, or the special one");
  const size_t n = context.n();
  const ring::Kernels& kernels = ActiveKernels();
  context.ntt(last_prime).Inverse(last);
  AlignedVector<uint32_t> lifted(n);
  for (size_t l = 0; l < out->limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    kernels.lift(lifted.data(), last.data(), context.lift(last_prime, l), n, q);
    context.ntt(l).Forward(lifted);
    kernels.subtract_multiply_scalar(out->limb(l).data(), in.limb(l).data(), lifted.data(),
                                     context.inverse(last_prime, l), n, q);
  }
}

}  // namespace

void DivideByLast(const Context& context, RnsPoly* out, RnsPoly& in, size_t last_prime) {
  Divide(context, out, in, in.limb(in.limbs() - 1), last_prime);
}

void DivideCopyByLast(const Context& context, RnsPoly* out, const RnsPoly& in, size_t last_prime) {
  const std::span<const uint32_t> last = in.limb(in.limbs() - 1);
  AlignedVector<uint32_t> copy(last.begin(), last.end());
  Divide(context, out, in, copy, last_prime);
}

void DivideBySpecialAndLast(const Context& context, RnsPoly* out, RnsPoly& in) {
  HEFT_DCHECK(in.limbs() >= 3 && out->limbs() + 2 == in.limbs(), "two limbs are divided away");
  HEFT_DCHECK(in.n() == context.n() && out->n() == context.n(), "polynomials of this degree");
  const size_t n = context.n();
  const size_t limbs = in.limbs() - 2;
  const size_t special = context.special_index();
  const ring::Kernels& kernels = ActiveKernels();
  // x = t modulo P (centred), and (x - t) / P = u modulo the last data prime (centred).
  uint32_t* t = in.limb(limbs + 1).data();
  uint32_t* u = in.limb(limbs).data();
  context.ntt(special).Inverse(in.limb(limbs + 1));
  context.ntt(limbs).Inverse(in.limb(limbs));
  AlignedVector<uint32_t> lifted(n);
  const ring::Modulus& last = context.modulus(limbs);
  kernels.lift(lifted.data(), t, context.lift(special, limbs), n, last);
  kernels.subtract_multiply_scalar(u, u, lifted.data(), context.inverse(special, limbs), n, last);
  for (size_t l = 0; l < limbs; ++l) {
    // (x - (t + P u)) / (P q_last) is the quotient, rounded twice.
    const ring::Modulus& q = context.modulus(l);
    const uint32_t p = q.Reduce(context.modulus(special).value());
    kernels.lift_sum(lifted.data(), t, context.lift(special, l), u, context.lift(limbs, l),
                     q.Shoup(p), n, q);
    context.ntt(l).Forward(lifted);
    const uint32_t inverse =
        q.Multiply(context.inverse(special, l).value, context.inverse(limbs, l).value);
    kernels.subtract_multiply_scalar(out->limb(l).data(), in.limb(l).data(), lifted.data(),
                                     q.Shoup(inverse), n, q);
  }
}

void DivideByLimbs(const Context& context, RnsPoly* poly, size_t count) {
  for (size_t limbs = poly->limbs() - 1; count > 0; --limbs, --count) {
    RnsPoly quotient(poly->n(), limbs);
    DivideByLast(context, &quotient, *poly, limbs);
    *poly = std::move(quotient);
  }
}

absl::Status Rescale(const Context& context, Ciphertext* out, const Ciphertext& a) {
  const size_t level = context.params().level_primes();
  if (a.limbs() <= level) {
    return absl::InvalidArgumentError("no level is left to rescale by: use deeper parameters");
  }
  HEFT_DCHECK_OK(CheckShape(context, a));
  const double divisor = context.params().LevelModulus(a.limbs());
  Ciphertext result;
  result.scale = a.scale / divisor;
  result.noise = {a.noise.message,
                  Combine(a.noise.error / divisor, RoundingError(context.params()))};
  result.parts = a.parts;
  for (RnsPoly& part : result.parts) DivideByLimbs(context, &part, level);
  *out = std::move(result);
  CountOperations({.rescales = 1});
  return absl::OkStatus();
}

absl::Status DropLimbs([[maybe_unused]] const Context& context, Ciphertext* out,
                       const Ciphertext& a, size_t limbs) {
  if (limbs < 1 || limbs > a.limbs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot go from ", a.limbs(), " limbs to ", limbs));
  }
  HEFT_DCHECK_OK(CheckShape(context, a));
  if (out != &a) *out = a;
  for (RnsPoly& part : out->parts) part.Truncate(limbs);
  return absl::OkStatus();
}

}  // namespace heft::ckks
