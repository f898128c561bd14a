// SPDX-License-Identifier: Apache-2.0
#include "ckks/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ring/sampling.h"

namespace heft::ckks {
namespace {
// SlotDeviation: a polynomial with independent coefficients of variance v has slots of variance n
// v.
double SlotDeviation(const Params& params, double coefficient_variance) {
  return std::sqrt(params.n() * coefficient_variance);
}
}  // namespace

double EncodingError(const Params& params) { return SlotDeviation(params, 1.0 / 12); }

double RoundingError(const Params& params) {
  // Part 0 is rounded directly; part 1's rounding is multiplied by the secret.
  return SlotDeviation(params, (1 + params.n() * ring::kTernaryVariance) / 12);
}

double SymmetricError(const Params& params) { return SlotDeviation(params, ring::kErrorVariance); }

double PublicKeyError(const Params& params) {
  // (u e + e0 + e1 s) / P: u and s ternary; then the rounding of that division.
  const double variance = ring::kErrorVariance * (1 + 2 * params.n() * ring::kTernaryVariance);
  const double divided = SlotDeviation(params, variance) / params.special().value();
  return Combine(divided, RoundingError(params));
}

double KeySwitchError(const Params& params, size_t limbs, std::span<const uint8_t> sizes) {
  double variance = 0;  // of sum_j digit_j e_j, digits uniform in (-q_j / 2, q_j / 2]
  size_t digit = 0;
  for (size_t j = 0; j < limbs; ++digit) {
    const size_t size = digit < sizes.size() ? std::min<size_t>(sizes[digit], limbs - j) : 1;
    double q = 1;
    for (size_t i = 0; i < size; ++i) q *= params.modulus(j + i).value();
    // The key of a digit of two primes is the sum of two, with two errors.
    variance += params.n() * (q * q / 12) * (size * ring::kErrorVariance);
    j += size;
  }
  return SlotDeviation(params, variance) / params.special().value();
}

DigitSizes DigitsWithin(const Params& params, size_t limbs, double error) {
  DigitSizes sizes;
  for (size_t j = 0; j < limbs;) {
    double pair = 0;
    if (j + 1 < limbs) {
      const double q = double(params.modulus(j).value()) * params.modulus(j + 1).value();
      pair = SlotDeviation(params, params.n() * (q * q / 12) * (2 * ring::kErrorVariance)) /
             params.special().value();
    }
    sizes.push_back(j + 1 < limbs && pair <= error ? 2 : 1);
    j += sizes.back();
  }
  return sizes;
}

double Combine(double a, double b) { return std::hypot(a, b); }

Noise AddNoise(const Noise& a, const Noise& b) {
  return {a.message + b.message, Combine(a.error, b.error)};
}

Noise MultiplyNoise(const Noise& a, double a_scale, const Noise& b, double b_scale) {
  const double first = a.message * a_scale * b.error;
  const double second = b.message * b_scale * a.error;
  return {a.message * b.message, Combine(Combine(first, second), a.error * b.error)};
}

Noise SquareNoise(const Noise& a, double scale) {
  return {a.message * a.message, Combine(2 * a.message * scale * a.error, a.error * a.error)};
}

double SlotErrorBound(const Params& params, const Noise& noise, double scale) {
  // The largest errors come from roundings times the secret: in a slot, a product of two complex
  // Gaussians, P(|e| > t sigma) = 2 t K_1(2 t), about sqrt(pi t) exp(-2 t). Solved for t by
  // iteration.
  const double target = std::log(static_cast<double>(params.slots())) + 20 * std::log(2.0);
  double tail = target / 2;
  for (int i = 0; i < 20; ++i) tail = (target + 0.5 * std::log(std::numbers::pi * tail)) / 2;
  return tail * noise.error / scale;
}

}  // namespace heft::ckks
