// SPDX-License-Identifier: Apache-2.0
#include "ckks/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/secure.h"
#include "ckks/shape.h"

namespace heft::ckks {
namespace {

// Product: without the checks for NaN that std::complex makes; inputs here are finite.
inline Complex Product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

absl::Status CheckLevel(const Params& params, double scale, size_t limbs) {
  if (limbs < 1 || limbs > params.limbs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot encode to ", limbs, " limbs: 1 to ", params.limbs()));
  }
  if (!(scale > 0) || !std::isfinite(scale)) {
    return absl::InvalidArgumentError(absl::StrCat("a scale of ", scale, " is not positive"));
  }
  return absl::OkStatus();
}

// CheckFits: centred coefficients up to `largest` must fit into the modulus and the integer type.
absl::Status CheckFits(const Params& params, double largest, double scale, size_t limbs) {
  const double bits = std::log2(std::max(largest, 1.0));
  if (bits >= 62 || bits >= params.Bits(limbs) - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("values at scale 2^", std::log2(scale), " give coefficients of ", bits,
                     " bits, which do not fit into a modulus of ", params.Bits(limbs),
                     " bits: use a smaller scale or more limbs"));
  }
  return absl::OkStatus();
}

}  // namespace

Encoder::Encoder(std::shared_ptr<const Context> context) : context_(std::move(context)) {
  const uint32_t n = context_->n();
  const int log_n = std::countr_zero(n);
  roots_.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    const double angle = std::numbers::pi * ring::ReverseBits(i, log_n) / n;
    roots_[i] = {std::cos(angle), std::sin(angle)};
  }
  uint64_t power = 1;  // 3^j modulo 2n
  for (uint32_t j = 0; j < n / 2; ++j) {
    slot_index_.push_back(ring::ReverseBits(static_cast<uint32_t>((power - 1) / 2), log_n));
    conjugate_index_.push_back(
        ring::ReverseBits(static_cast<uint32_t>((2 * uint64_t{n} - power - 1) / 2), log_n));
    power = power * 3 % (2 * uint64_t{n});
  }
}

void Encoder::Forward(std::span<Complex> a) const {
  const size_t n = a.size();
  for (size_t m = 1, t = n / 2; t > 0; m *= 2, t /= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Complex root = roots_[m + i];
      for (size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const Complex y = Product(a[j + t], root);
        a[j + t] = a[j] - y;
        a[j] += y;
      }
    }
  }
}

void Encoder::Inverse(std::span<Complex> a) const {
  const size_t n = a.size();
  for (size_t m = n / 2, t = 1; m > 0; m /= 2, t *= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Complex root = std::conj(roots_[m + i]);
      for (size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
        const Complex difference = a[j] - a[j + t];
        a[j] += a[j + t];
        a[j + t] = Product(difference, root);
      }
    }
  }
}

absl::StatusOr<Plaintext> Encoder::Encode(std::span<const Complex> slots, double scale,
                                          size_t limbs, bool extended) const {
  const Params& params = context_->params();
  const uint32_t n = params.n();
  if (slots.size() > params.slots()) {
    return absl::InvalidArgumentError(
        absl::StrCat(slots.size(), " values do not fit into ", params.slots(), " slots"));
  }
  double largest = 0;
  std::vector<Complex> a(n, 0);
  for (size_t j = 0; j < slots.size(); ++j) {
    if (!std::isfinite(slots[j].real()) || !std::isfinite(slots[j].imag())) {
      return absl::InvalidArgumentError(absl::StrCat("value ", j, " is not a finite number"));
    }
    largest = std::max(largest, std::abs(slots[j]));
    a[slot_index_[j]] = slots[j];
    a[conjugate_index_[j]] = std::conj(slots[j]);
  }
  HEFT_RETURN_IF_ERROR(CheckLevel(params, scale, limbs));
  Inverse(a);
  const double factor = scale / n;
  double largest_coefficient = 0;
  for (const Complex& v : a) {
    largest_coefficient = std::max(largest_coefficient, std::abs(v.real() * factor));
  }
  HEFT_RETURN_IF_ERROR(CheckFits(params, largest_coefficient, scale, limbs));
  std::vector<int64_t> coefficients(n);
  for (uint32_t i = 0; i < n; ++i) {
    coefficients[i] = static_cast<int64_t>(std::round(a[i].real() * factor));
  }
  Plaintext out;
  out.poly = ring::RnsPoly(n, limbs + (extended ? 1 : 0));
  out.scale = scale;
  out.noise = {largest, EncodingError(params)};
  out.extended = extended;
  for (size_t l = 0; l < out.poly.limbs(); ++l) {
    const size_t prime = l < limbs ? l : context_->special_index();
    const ring::Modulus& q = context_->modulus(prime);
    std::span<uint32_t> limb = out.poly.limb(l);
    for (uint32_t i = 0; i < n; ++i) limb[i] = q.ReduceSigned(coefficients[i]);
    context_->ntt(prime).Forward(limb);
  }
  return out;
}

absl::StatusOr<Plaintext> Encoder::Encode(std::span<const double> slots, double scale, size_t limbs,
                                          bool extended) const {
  const std::vector<Complex> complex(slots.begin(), slots.end());
  return Encode(std::span<const Complex>(complex), scale, limbs, extended);
}

absl::StatusOr<Plaintext> Encoder::EncodeConstant(double value, double scale, size_t limbs) const {
  if (!std::isfinite(value)) return absl::InvalidArgumentError("the constant is not finite");
  const Params& params = context_->params();
  HEFT_RETURN_IF_ERROR(CheckLevel(params, scale, limbs));
  HEFT_RETURN_IF_ERROR(CheckFits(params, std::abs(value) * scale, scale, limbs));
  Plaintext out;
  out.poly = ring::RnsPoly(params.n(), limbs);
  out.scale = scale;
  out.noise = {std::abs(value), 0.5};
  const int64_t coefficient = static_cast<int64_t>(std::round(value * scale));
  for (size_t l = 0; l < limbs; ++l) {
    const uint32_t residue = context_->modulus(l).ReduceSigned(coefficient);
    for (uint32_t& v : out.poly.limb(l)) v = residue;  // a constant's NTT is constant
  }
  return out;
}

std::vector<double> CentredCoefficients(const Context& context, const Plaintext& plaintext) {
  HEFT_DCHECK_OK(CheckShape(context, plaintext));
  const uint32_t n = context.n();
  const size_t limbs = plaintext.limbs();
  ring::RnsPoly poly = plaintext.poly;
  for (size_t l = 0; l < limbs; ++l) context.ntt(l).Inverse(poly.limb(l));
  // Garner's mixed-radix digits of x and of Q - x; the smaller of the two is the centred value.
  std::vector<double> out(n);
  std::vector<uint32_t> digits(limbs);
  auto value = [&](uint32_t i, bool negated) {
    for (size_t l = 0; l < limbs; ++l) {
      const ring::Modulus& q = context.modulus(l);
      uint32_t x = poly.limb(l)[i];
      if (negated) x = q.Negate(x);
      for (size_t k = 0; k < l; ++k) {
        x = q.Multiply(q.Sub(x, q.Reduce(digits[k])), context.inverse(k, l));
      }
      digits[l] = x;
    }
    double v = 0;
    for (size_t l = limbs; l-- > 0;) v = v * context.modulus(l).value() + digits[l];
    return v;
  };
  for (uint32_t i = 0; i < n; ++i) {
    const double positive = value(i, false);
    const double negative = value(i, true);
    // By minimum and sign instead of a branch: this may be a decryption.
    out[i] = std::copysign(std::min(positive, negative), negative - positive);
  }
  SecureWipe(poly.values().data(), poly.values().size_bytes());
  return out;
}

std::vector<Complex> Encoder::Decode(const Plaintext& plaintext) const {
  std::vector<double> coefficients = CentredCoefficients(*context_, plaintext);
  std::vector<Complex> a(coefficients.size());
  const double inverse = 1 / plaintext.scale;  // the time of a division depends on its operands
  for (size_t i = 0; i < a.size(); ++i) a[i] = coefficients[i] * inverse;
  Forward(a);
  std::vector<Complex> slots(context_->slots());
  for (size_t j = 0; j < slots.size(); ++j) slots[j] = a[slot_index_[j]];
  // The plaintext may be a decryption with its noise: only the caller keeps it.
  SecureWipe(coefficients.data(), coefficients.size() * sizeof(double));
  SecureWipe(a.data(), a.size() * sizeof(Complex));
  return slots;
}

}  // namespace heft::ckks
