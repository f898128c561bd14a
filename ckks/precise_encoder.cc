// SPDX-License-Identifier: Apache-2.0
#include "ckks/precise_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/secure.h"
#include "ckks/double_double.h"
#include "ckks/shape.h"

namespace heft::ckks {
namespace {

// Value: a complex number.
struct Value {
  DoubleDouble re, im;
};

Value operator+(const Value& a, const Value& b) { return {a.re + b.re, a.im + b.im}; }
Value operator-(const Value& a, const Value& b) { return {a.re - b.re, a.im - b.im}; }
Value operator*(const Value& a, const Value& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Value Conjugate(const Value& a) { return {a.re, -a.im}; }

constexpr double kMostBits = 100;

// UnitRoots: exp(i pi t / n) for t < n, by halving a right angle and products of powers of two.
std::vector<Value> UnitRoots(uint32_t n) {
  std::vector<Value> powers;  // exp(i pi 2^k / n), the largest first
  Value root = {{0, 0}, {1, 0}};
  for (uint32_t t = n / 2; t >= 1; t /= 2) {
    powers.push_back(root);
    const DoubleDouble cosine = SquareRoot((DoubleDouble{1, 0} + root.re) * 0.5);
    root = {cosine, Quotient(root.im * 0.5, cosine)};
  }
  std::vector<Value> roots = {{{1, 0}, {0, 0}}};
  roots.reserve(n);
  for (size_t k = powers.size(); k-- > 0;) {
    const size_t count = roots.size();
    for (size_t t = 0; t < count; ++t) roots.push_back(roots[t] * powers[k]);
  }
  return roots;
}

// Nearest: to integers: what `v` is the sum of.
std::pair<double, int64_t> Nearest(DoubleDouble v) {
  const double high = std::nearbyint(v.high);
  return {high, static_cast<int64_t>(std::nearbyint((v.high - high) + v.low))};
}

}  // namespace

// Tables: a real polynomial's values at zeta^e with e = 1 modulo 4 decide all others. With m = n/2,
// zeta^(e m) = i there: they are those of the m complex numbers a_j + i a_(j + m), and the
// transform is the upper half of Encoder's.
struct PreciseEncoder::Tables {
  std::vector<Value> roots;        // zeta^brv(i)
  std::vector<uint32_t> index;     // of slot j among the n/2 values
  std::vector<uint8_t> conjugate;  // 1: the slot is the value's conjugate

  void Forward(std::vector<Value>& a) const {
    for (size_t m = 1, t = a.size() / 2; t > 0; m *= 2, t /= 2) {
      for (size_t i = 0; i < m; ++i) {
        const Value& root = roots[2 * m + i];
        for (size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
          const Value y = a[j + t] * root;
          a[j + t] = a[j] - y;
          a[j] = a[j] + y;
        }
      }
    }
  }
  void Inverse(std::vector<Value>& a) const {
    for (size_t m = a.size() / 2, t = 1; m > 0; m /= 2, t *= 2) {
      for (size_t i = 0; i < m; ++i) {
        const Value root = Conjugate(roots[2 * m + i]);
        for (size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
          const Value difference = a[j] - a[j + t];
          a[j] = a[j] + a[j + t];
          a[j + t] = difference * root;
        }
      }
    }
  }
};

PreciseEncoder::PreciseEncoder(std::shared_ptr<const Context> context)
    : context_(std::move(context)), tables_(std::make_unique<Tables>()) {
  const uint32_t n = context_->n();
  const int log_n = std::countr_zero(n);
  const std::vector<Value> roots = UnitRoots(n);
  for (uint32_t i = 0; i < n; ++i) tables_->roots.push_back(roots[ring::ReverseBits(i, log_n)]);
  uint64_t power = 1;  // 3^j modulo 2n
  for (uint32_t j = 0; j < n / 2; ++j) {
    const bool conjugate = power % 4 == 3;
    const uint64_t exponent = conjugate ? 2 * uint64_t{n} - power : power;
    tables_->index.push_back(ring::ReverseBits(static_cast<uint32_t>((exponent - 1) / 2), log_n));
    tables_->conjugate.push_back(conjugate ? 1 : 0);
    power = power * 3 % (2 * uint64_t{n});
  }
}

PreciseEncoder::~PreciseEncoder() = default;

absl::StatusOr<Plaintext> PreciseEncoder::Encode(const PreciseSlots& slots, double scale,
                                                 size_t limbs) const {
  const Params& params = context_->params();
  const size_t half = params.slots();
  if (slots.high.size() != half || slots.low.size() != half || limbs < 1 ||
      limbs > params.limbs() || !(scale > 0)) {
    return absl::InvalidArgumentError("not the slots, level or scale of these parameters");
  }
  std::vector<Value> a(half);
  double largest = 0;
  for (size_t j = 0; j < half; ++j) {
    const Complex &high = slots.high[j], &low = slots.low[j];
    largest = std::max(largest, std::max(std::abs(high.real()), std::abs(high.imag())));
    const Value value = {{high.real(), low.real()}, {high.imag(), low.imag()}};
    a[tables_->index[j]] = tables_->conjugate[j] != 0 ? Conjugate(value) : value;
  }
  // No coefficient is larger than the largest |slot| times the scale.
  const double bits = std::log2(std::max(largest, 1.0) * std::sqrt(2.0) * scale);
  if (!(bits < std::min(kMostBits, params.Bits(limbs) - 1))) {
    return absl::InvalidArgumentError(
        absl::StrCat("values at scale 2^", std::log2(scale), " do not fit into a modulus of ",
                     params.Bits(limbs), " bits: use a smaller scale or more limbs"));
  }
  tables_->Inverse(a);
  Plaintext out;
  out.poly = ring::RnsPoly(params.n(), limbs);
  out.scale = scale;
  out.noise = {largest, EncodingError(params)};
  const double factor = 1 / static_cast<double>(half);  // a power of two, as the scale need not be
  for (size_t j = 0; j < half; ++j) {
    for (size_t part = 0; part < 2; ++part) {
      const auto [high, low] = Nearest((part == 0 ? a[j].re : a[j].im) * factor * scale);
      // Below 2^100 in pieces of 50 bits.
      const double upper = std::floor(high * 0x1p-50);
      const auto lower = static_cast<int64_t>(high - upper * 0x1p50) + low;
      for (size_t l = 0; l < limbs; ++l) {
        const ring::Modulus& q = context_->modulus(l);
        const uint32_t weight = q.Reduce(uint64_t{1} << 50);
        out.poly.limb(l)[j + part * half] = q.Add(
            q.Multiply(q.ReduceSigned(static_cast<int64_t>(upper)), weight), q.ReduceSigned(lower));
      }
    }
  }
  for (size_t l = 0; l < limbs; ++l) context_->ntt(l).Forward(out.poly.limb(l));
  SecureWipe(a.data(), a.size() * sizeof(a[0]));
  return out;
}

namespace {

// CentredValues: of coefficients, as CentredCoefficients does: Garner's digits of x and of Q - x,
// of which the smaller is exact.
std::vector<DoubleDouble> CentredValues(const Context& context, const Plaintext& plaintext) {
  const size_t n = context.n(), limbs = plaintext.limbs();
  ring::RnsPoly poly = plaintext.poly;
  for (size_t l = 0; l < limbs; ++l) context.ntt(l).Inverse(poly.limb(l));
  std::vector<DoubleDouble> out(n);
  std::vector<uint32_t> digits(limbs);
  auto value = [&](size_t i, bool negated) {
    for (size_t l = 0; l < limbs; ++l) {
      const ring::Modulus& q = context.modulus(l);
      uint32_t x = poly.limb(l)[i];
      if (negated) x = q.Negate(x);
      for (size_t k = 0; k < l; ++k) {
        x = q.Multiply(q.Sub(x, q.Reduce(digits[k])), context.inverse(k, l));
      }
      digits[l] = x;
    }
    DoubleDouble v;
    for (size_t l = limbs; l-- > 0;) {
      v = v * context.modulus(l).value() + DoubleDouble{static_cast<double>(digits[l]), 0};
    }
    return v;
  };
  for (size_t i = 0; i < n; ++i) {
    const DoubleDouble positive = value(i, false), negative = value(i, true);
    // By a factor, not by a branch: this may be a decryption.
    const auto is_negative = static_cast<double>(negative.high < positive.high);
    const auto is_positive = 1 - is_negative;
    out[i] = {positive.high * is_positive - negative.high * is_negative,
              positive.low * is_positive - negative.low * is_negative};
  }
  SecureWipe(poly.values().data(), poly.values().size_bytes());
  SecureWipe(digits.data(), digits.size() * sizeof(digits[0]));
  return out;
}

}  // namespace

PreciseSlots PreciseEncoder::Decode(const Plaintext& plaintext) const {
  HEFT_DCHECK_OK(CheckShape(*context_, plaintext));
  HEFT_DCHECK(!plaintext.extended, "what is decoded is not extended");
  const size_t half = context_->slots();
  std::vector<DoubleDouble> coefficients = CentredValues(*context_, plaintext);
  const DoubleDouble inverse = Quotient({1, 0}, {plaintext.scale, 0});
  std::vector<Value> a(half);
  for (size_t j = 0; j < half; ++j) {
    a[j] = {coefficients[j] * inverse, coefficients[j + half] * inverse};
  }
  tables_->Forward(a);
  PreciseSlots out(half);
  for (size_t j = 0; j < half; ++j) {
    const Value& value = a[tables_->index[j]];
    const double sign = tables_->conjugate[j] != 0 ? -1 : 1;
    out.high[j] = {value.re.high, sign * value.im.high};
    out.low[j] = {value.re.low, sign * value.im.low};
  }
  SecureWipe(coefficients.data(), coefficients.size() * sizeof(coefficients[0]));
  SecureWipe(a.data(), a.size() * sizeof(a[0]));
  return out;
}

}  // namespace heft::ckks
