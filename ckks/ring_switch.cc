// SPDX-License-Identifier: Apache-2.0
#include "ckks/ring_switch.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ckks/digits.h"

namespace heft::ckks {
namespace {

absl::Status CheckRings(const Context& from, const Context& to, const Ciphertext& a,
                        const SwitchKey& key) {
  if (from.n() != 2 * to.n() || from.params().primes() != to.params().primes()) {
    return absl::InvalidArgumentError(absl::StrCat("no ring switch from ", from.params().Describe(),
                                                   " to ", to.params().Describe()));
  }
  if (a.size() == 2 && a.parts[0].n() == from.n() && a.limbs() <= key.limbs()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("a ring switch for two parts of at most ",
                                                 key.limbs(), " limbs, not ", a.size(), " of ",
                                                 a.limbs()));
}

// `a` under the secret of the small ring, still in the large one.
std::vector<ring::RnsPoly> SwitchSecret(const Context& from, const Ciphertext& a,
                                        const SwitchKey& key) {
  const Digits digits(from, a.parts[1]);
  SwitchSum sum(from.n(), a.limbs());
  for (size_t l = 0; l <= a.limbs(); ++l) {
    SwitchLimb(from, sum.part[0].limb(l).data(), sum.part[1].limb(l).data(), digits, key, l);
  }
  const ring::RnsPoly* const plain[2] = {&a.parts[0], nullptr};
  return CloseSwitch(from, sum, plain, /*rescale=*/false);
}

// Every second coefficient of `coefficients` from `first` on, one limb, in NTT form.
void TakeHalf(const Context& to, size_t limb, std::span<const uint32_t> coefficients, size_t first,
              std::span<uint32_t> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = coefficients[2 * i + first];
  to.ntt(limb).Forward(out);
}

// Both halves, or only the even one if `odd` is nullptr.
absl::Status Split(const Context& from, const Context& to, const Ciphertext& a,
                   const SwitchKey& key, Ciphertext* even, Ciphertext* odd) {
  HEFT_RETURN_IF_ERROR(CheckRings(from, to, a, key));
  std::vector<ring::RnsPoly> parts = SwitchSecret(from, a, key);
  Noise noise = a.noise;
  // A half's slot is the mean of two slots of the large ring. The switch's errors in these are
  // independent; errors of repeated values may be equal.
  const double own =
      Combine(KeySwitchError(from.params(), a.limbs()), RoundingError(from.params()));
  noise.error = Combine(noise.error, own / std::numbers::sqrt2);
  for (Ciphertext* half : {even, odd}) {
    if (half == nullptr) continue;
    half->scale = a.scale;
    half->noise = noise;
    half->parts.assign(2, ring::RnsPoly(to.n(), a.limbs()));
  }
  for (size_t p = 0; p < 2; ++p) {
    for (size_t l = 0; l < a.limbs(); ++l) {
      const std::span<uint32_t> coefficients = parts[p].limb(l);
      from.ntt(l).Inverse(coefficients);
      TakeHalf(to, l, coefficients, 0, even->parts[p].limb(l));
      if (odd != nullptr) TakeHalf(to, l, coefficients, 1, odd->parts[p].limb(l));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RingHalves> SplitRing(const Context& from, const Context& to, const Ciphertext& a,
                                     const SwitchKey& key) {
  RingHalves out;
  HEFT_RETURN_IF_ERROR(Split(from, to, a, key, &out.even, &out.odd));
  return out;
}

absl::StatusOr<Ciphertext> SwitchRing(const Context& from, const Context& to, const Ciphertext& a,
                                      const SwitchKey& key) {
  Ciphertext out;
  HEFT_RETURN_IF_ERROR(Split(from, to, a, key, &out, nullptr));
  return out;
}

Complex OddFactor(const Context& to, uint32_t slot) {
  const uint64_t order = 4 * uint64_t{to.n()};  // of zeta
  uint64_t power = 1, base = 3;
  for (uint32_t e = slot; e > 0; e >>= 1) {
    if (e & 1) power = power * base % order;
    base = base * base % order;
  }
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(power) / double(order));
}

}  // namespace heft::ckks
