// SPDX-License-Identifier: Apache-2.0
#include "ckks/bounded_encoder.h"

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

// The functions below are for double and DoubleDouble.
double High(double v) { return v; }
double High(DoubleDouble v) { return v.high; }
double Low(double) { return 0; }
double Low(DoubleDouble v) { return v.low; }
template <typename Real>
Real Make(double high, double low);
template <>
double Make(double high, double) {
  return high;
}
template <>
DoubleDouble Make(double high, double low) {
  return {high, low};
}

// Value: a complex number.
template <typename Real>
struct Value {
  Real re, im;
  Value operator+(const Value& b) const { return {re + b.re, im + b.im}; }
  Value operator-(const Value& b) const { return {re - b.re, im - b.im}; }
  Value operator*(const Value& b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Value Conjugate() const { return {re, -im}; }
};

// UnitRoots: exp(i pi t / n) for t < n, by halving a right angle and products of powers of two.
std::vector<Value<DoubleDouble>> UnitRoots(uint32_t n) {
  using Root = Value<DoubleDouble>;
  std::vector<Root> powers;  // exp(i pi 2^k / n), the largest first
  Root root = {{0, 0}, {1, 0}};
  for (uint32_t t = n / 2; t >= 1; t /= 2) {
    powers.push_back(root);
    const DoubleDouble cosine = SquareRoot((DoubleDouble{1, 0} + root.re) * 0.5);
    root = {cosine, Quotient(root.im * 0.5, cosine)};
  }
  std::vector<Root> roots = {{{1, 0}, {0, 0}}};
  roots.reserve(n);
  for (size_t k = powers.size(); k-- > 0;) {
    const size_t count = roots.size();
    for (size_t t = 0; t < count; ++t) roots.push_back(roots[t] * powers[k]);
  }
  return roots;
}

// Nearest: the nearest integer, or for |v| above 2^51 a near one. std::nearbyint branches on
// machines without an instruction for it.
double Nearest(double v) {
  constexpr double kUnits = 0x1.8p52;
  return (v + kUnits) - kUnits;
}

// Integer: high + low.
struct Integer {
  double high;
  int64_t low;
};
Integer NearestInteger(double v) { return {Nearest(v), 0}; }
Integer NearestInteger(DoubleDouble v) {
  const double high = Nearest(v.high);
  return {high, static_cast<int64_t>(Nearest((v.high - high) + v.low))};
}

// Residue: of an integer below 2^100, in pieces of 50 bits.
uint32_t Residue(const ring::Modulus& q, uint32_t two50, Integer v) {
  const double upper = Nearest(v.high * 0x1p-50);
  const auto lower = static_cast<int64_t>(v.high - upper * 0x1p50) + v.low;
  return q.Add(q.Multiply(q.ReduceSigned(static_cast<int64_t>(upper)), two50),
               q.ReduceSigned(lower));
}

// CentredValues: coefficients, computed as in CentredCoefficients from Garner's digits of x and of
// Q - x. The smaller of the two is exact.
template <typename Real>
std::vector<Real> CentredValues(const Context& context, const Plaintext& plaintext) {
  const size_t n = context.n(), limbs = plaintext.limbs();
  ring::RnsPoly poly = plaintext.poly;
  for (size_t l = 0; l < limbs; ++l) context.ntt(l).Inverse(poly.limb(l));
  std::vector<Real> out(n);
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
    Real v = Make<Real>(0, 0);
    for (size_t l = limbs; l-- > 0;) {
      v = v * static_cast<double>(context.modulus(l).value()) +
          Make<Real>(static_cast<double>(digits[l]), 0);
    }
    return v;
  };
  for (size_t i = 0; i < n; ++i) {
    const Real positive = value(i, false), negative = value(i, true);
    // By factors, because this may be a decryption: compilers turn a comparison into a branch.
    const auto difference = std::bit_cast<uint64_t>(High(positive) - High(negative));
    const auto plus = static_cast<double>(difference >> 63), minus = 1 - plus;
    out[i] = Make<Real>(High(positive) * plus - High(negative) * minus,
                        Low(positive) * plus - Low(negative) * minus);
  }
  SecureWipe(poly.values().data(), poly.values().size_bytes());
  SecureWipe(digits.data(), digits.size() * sizeof(digits[0]));
  return out;
}

}  // namespace

// Transform: a real polynomial's values at zeta^e with e = 1 modulo 4 determine all others. With m
// = n/2, zeta^(e m) = i there, so they are the values of the m complex numbers a_j + i a_(j + m),
// and the transform is the first half of Encoder's.
template <typename Real>
struct BoundedEncoder::Transform {
  explicit Transform(uint32_t n) {
    const int log_n = std::countr_zero(n);
    const auto all = UnitRoots(n);
    for (uint32_t i = 0; i < n; ++i) {
      const auto& root = all[ring::ReverseBits(i, log_n)];
      roots.push_back(
          {Make<Real>(root.re.high, root.re.low), Make<Real>(root.im.high, root.im.low)});
    }
    uint64_t power = 1;  // 3^j modulo 2n
    for (uint32_t j = 0; j < n / 2; ++j) {
      const bool conjugated = power % 4 == 3;
      const uint64_t exponent = conjugated ? 2 * uint64_t{n} - power : power;
      index.push_back(ring::ReverseBits(static_cast<uint32_t>((exponent - 1) / 2), log_n));
      sign.push_back(conjugated ? -1 : 1);
      power = power * 3 % (2 * uint64_t{n});
    }
  }

  void Forward(std::vector<Value<Real>>& a) const {
    for (size_t m = 1, t = a.size() / 2; t > 0; m *= 2, t /= 2) {
      for (size_t i = 0; i < m; ++i) {
        const Value<Real> root = roots[2 * m + i];
        for (size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
          const Value<Real> y = a[j + t] * root;
          a[j + t] = a[j] - y;
          a[j] = a[j] + y;
        }
      }
    }
  }
  void Inverse(std::vector<Value<Real>>& a) const {
    for (size_t m = a.size() / 2, t = 1; m > 0; m /= 2, t *= 2) {
      for (size_t i = 0; i < m; ++i) {
        const Value<Real> root = roots[2 * m + i].Conjugate();
        for (size_t j = 2 * i * t; j < (2 * i + 1) * t; ++j) {
          const Value<Real> difference = a[j] - a[j + t];
          a[j] = a[j] + a[j + t];
          a[j + t] = difference * root;
        }
      }
    }
  }

  void Encode(const Context& context, const WideSlots& slots, double scale,
              ring::RnsPoly* out) const;
  void Decode(const Context& context, const Plaintext& plaintext, WideSlots* out) const;

  std::vector<Value<Real>> roots;  // zeta^brv(i)
  std::vector<uint32_t> index;     // of slot j among the n/2 values
  std::vector<double> sign;        // -1: the slot is the value's conjugate
};

template <typename Real>
void BoundedEncoder::Transform<Real>::Encode(const Context& context, const WideSlots& slots,
                                             double scale, ring::RnsPoly* out) const {
  const size_t half = index.size();
  constexpr bool kWide = sizeof(Real) > sizeof(double);
  std::vector<Value<Real>> a(half);
  for (size_t j = 0; j < half; ++j) {
    const Complex high = slots.high[j], low = kWide ? slots.low[j] : Complex(0);
    a[index[j]] = {Make<Real>(high.real(), low.real()),
                   Make<Real>(sign[j] * high.imag(), sign[j] * low.imag())};
  }
  Inverse(a);
  const double factor = 1 / static_cast<double>(half);  // a power of two
  std::vector<Integer> coefficients(2 * half);
  for (size_t j = 0; j < half; ++j) {
    coefficients[j] = NearestInteger(a[j].re * factor * scale);
    coefficients[j + half] = NearestInteger(a[j].im * factor * scale);
  }
  for (size_t l = 0; l < out->limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    const uint32_t two50 = q.Reduce(uint64_t{1} << 50);
    uint32_t* v = out->limb(l).data();
    for (size_t j = 0; j < 2 * half; ++j) v[j] = Residue(q, two50, coefficients[j]);
    context.ntt(l).Forward(out->limb(l));
  }
  SecureWipe(a.data(), a.size() * sizeof(a[0]));
  SecureWipe(coefficients.data(), coefficients.size() * sizeof(coefficients[0]));
}

template <typename Real>
void BoundedEncoder::Transform<Real>::Decode(const Context& context, const Plaintext& plaintext,
                                             WideSlots* out) const {
  const size_t half = index.size();
  std::vector<Real> coefficients = CentredValues<Real>(context, plaintext);
  const DoubleDouble quotient = Quotient({1, 0}, {plaintext.scale, 0});
  const Real inverse = Make<Real>(quotient.high, quotient.low);
  std::vector<Value<Real>> a(half);
  for (size_t j = 0; j < half; ++j) {
    a[j] = {coefficients[j] * inverse, coefficients[j + half] * inverse};
  }
  Forward(a);
  for (size_t j = 0; j < half; ++j) {
    const Value<Real>& value = a[index[j]];
    out->high[j] = {High(value.re), sign[j] * High(value.im)};
    if (!out->low.empty()) out->low[j] = {Low(value.re), sign[j] * Low(value.im)};
  }
  SecureWipe(coefficients.data(), coefficients.size() * sizeof(coefficients[0]));
  SecureWipe(a.data(), a.size() * sizeof(a[0]));
}

BoundedEncoder::BoundedEncoder(std::shared_ptr<const Context> context, bool wide)
    : context_(std::move(context)) {
  if (wide) {
    wide_ = std::make_unique<Transform<DoubleDouble>>(context_->n());
  } else {
    narrow_ = std::make_unique<Transform<double>>(context_->n());
  }
}

BoundedEncoder::BoundedEncoder(std::shared_ptr<const Context> context)
    : BoundedEncoder(context, context->params().level_primes() > 1) {}

BoundedEncoder::~BoundedEncoder() = default;

WideSlots BoundedEncoder::NewSlots() const {
  WideSlots slots;
  slots.high.assign(context_->slots(), 0);
  if (wide()) slots.low = slots.high;
  return slots;
}

absl::StatusOr<Plaintext> BoundedEncoder::Encode(const WideSlots& slots, double bound, double scale,
                                                 size_t limbs) const {
  const Params& params = context_->params();
  if (slots.high.size() != params.slots() || (wide() && slots.low.size() != params.slots()) ||
      limbs < 1 || limbs > params.limbs() || !(scale > 0)) {
    return absl::InvalidArgumentError("not the slots, level or scale of these parameters");
  }
  // No coefficient is larger than the largest |slot| times the scale.
  const double bits = std::log2(std::max(bound, 1.0) * std::sqrt(2.0) * scale);
  if (!(bits < std::min(wide() ? 100.0 : 60.0, params.Bits(limbs) - 1))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "values up to ", bound, " at scale 2^", std::log2(scale), " may not fit into a modulus of ",
        params.Bits(limbs), " bits: use a smaller scale or more limbs"));
  }
  Plaintext out;
  out.poly = ring::RnsPoly(params.n(), limbs);
  out.scale = scale;
  out.noise = {bound, EncodingError(params)};
  if (wide()) {
    wide_->Encode(*context_, slots, scale, &out.poly);
  } else {
    narrow_->Encode(*context_, slots, scale, &out.poly);
  }
  return out;
}

WideSlots BoundedEncoder::Decode(const Plaintext& plaintext) const {
  HEFT_DCHECK_OK(CheckShape(*context_, plaintext));
  HEFT_DCHECK(!plaintext.extended, "what is decoded is not extended");
  WideSlots out = NewSlots();
  if (wide()) {
    wide_->Decode(*context_, plaintext, &out);
  } else {
    narrow_->Decode(*context_, plaintext, &out);
  }
  return out;
}

}  // namespace heft::ckks
