// SPDX-License-Identifier: Apache-2.0
#include "ckks/key_switch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;
using ring::RnsPoly;

// Data primes first, then the special one: the extended basis of a ciphertext with `limbs` limbs.
size_t ExtendedPrime(const Context& context, size_t limb, size_t limbs) {
  return limb < limbs ? limb : context.special_index();
}

absl::Status CheckTwoParts(const Ciphertext& a) {
  if (a.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a ciphertext of ", a.size(), " parts cannot be rotated: relinearise first"));
}

// sum_j digit_j key_j in the extended basis, one limb, both parts.
void SwitchLimb(const Context& context, uint32_t* out0, uint32_t* out1, const Digits& digits,
                const SwitchKey& key, size_t limb) {
  const size_t limbs = digits.limbs();
  // A key cut at more limbs than the ciphertext has keeps the special prime behind its own last
  // one.
  const size_t key_limb = limb < limbs ? limb : key.limbs();
  const uint32_t* d[64];
  const uint32_t* k0[64];
  const uint32_t* k1[64];
  for (size_t j = 0; j < limbs; ++j) {
    d[j] = digits.at(j, limb);
    k0[j] = key.at(key_limb, j, 0);
    k1[j] = key.at(key_limb, j, 1);
  }
  const ring::Modulus& q = context.modulus(ExtendedPrime(context, limb, limbs));
  ActiveKernels().inner_product(out0, d, k0, limbs, context.n(), q);
  ActiveKernels().inner_product(out1, d, k1, limbs, context.n(), q);
}

void SwitchAll(const Context& context, RnsPoly* out0, RnsPoly* out1, const Digits& digits,
               const SwitchKey& key) {
  for (size_t l = 0; l <= digits.limbs(); ++l) {
    SwitchLimb(context, out0->limb(l).data(), out1->limb(l).data(), digits, key, l);
  }
}

void AddTo(const Context& context, RnsPoly* out, const RnsPoly& a) {
  for (size_t l = 0; l < out->limbs(); ++l) {
    uint32_t* v = out->limb(l).data();
    ActiveKernels().add(v, v, a.limb(l).data(), out->n(), context.modulus(l));
  }
}

RnsPoly Permuted(const Context& context, const RnsPoly& a, uint32_t element) {
  if (element == 1) return a;
  const AlignedVector<uint32_t>& table = context.permutation(element);
  RnsPoly out(a.n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    ActiveKernels().permute(out.limb(l).data(), a.limb(l).data(), table.data(), a.n());
  }
  return out;
}

// The image of `a` under one automorphism, from its digits.
Ciphertext ImageFromDigits(const Context& context, const Ciphertext& a, const Digits& digits,
                           uint32_t element, const SwitchKey& key) {
  const size_t limbs = a.limbs();
  RnsPoly sum0(a.parts[0].n(), limbs + 1), sum1(a.parts[0].n(), limbs + 1);
  SwitchAll(context, &sum0, &sum1, digits, key);
  RnsPoly part0(a.parts[0].n(), limbs), part1(a.parts[0].n(), limbs);
  DivideByLast(context, &part0, sum0, context.special_index());
  DivideByLast(context, &part1, sum1, context.special_index());
  AddTo(context, &part0, a.parts[0]);
  Ciphertext out;
  out.scale = a.scale;
  const Params& params = context.params();
  const double added = Combine(KeySwitchError(params, limbs), RoundingError(params));
  out.noise = {a.noise.message, Combine(a.noise.error, added)};
  out.parts.push_back(Permuted(context, part0, element));
  out.parts.push_back(Permuted(context, part1, element));
  return out;
}

// Keys of all elements but 1 (nullptr there), or the first error.
absl::StatusOr<std::vector<const SwitchKey*>> FindKeys(const EvaluationKeys& keys,
                                                       std::span<const uint32_t> elements,
                                                       size_t limbs) {
  std::vector<const SwitchKey*> found;
  for (uint32_t element : elements) {
    found.push_back(nullptr);
    if (element == 1) continue;
    HEFT_ASSIGN_OR_RETURN(found.back(), keys.Galois(element, limbs));
  }
  return found;
}

}  // namespace

Digits::Digits(const Context& context, const RnsPoly& poly)
    : n_(context.n()), limbs_(poly.limbs()), data_(n_ * limbs_ * (limbs_ + 1)) {
  const ring::Kernels& kernels = ActiveKernels();
  AlignedVector<uint32_t> coefficients(n_);
  for (size_t digit = 0; digit < limbs_; ++digit) {
    const std::span<const uint32_t> own = poly.limb(digit);
    std::copy(own.begin(), own.end(), coefficients.begin());
    context.ntt(digit).Inverse(coefficients);
    for (size_t limb = 0; limb <= limbs_; ++limb) {
      uint32_t* out = data_.data() + (limb * limbs_ + digit) * n_;
      if (limb == digit) {  // its own residues need no lift
        std::copy(own.begin(), own.end(), out);
        continue;
      }
      const size_t prime = ExtendedPrime(context, limb, limbs_);
      kernels.lift(out, coefficients.data(), context.lift(digit, prime), n_,
                   context.modulus(prime));
      context.ntt(prime).Forward({out, n_});
    }
  }
}

absl::Status Relinearise(const Context& context, Ciphertext* out, const Ciphertext& a,
                         const EvaluationKeys& keys) {
  if (a.size() == 2) {
    if (out != &a) *out = a;
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(const SwitchKey* key, keys.Relinearisation(a.limbs()));
  Ciphertext two;
  two.scale = a.scale;
  two.noise = a.noise;
  two.parts = {a.parts[0], a.parts[2]};
  // Switching part 2 (as a polynomial times s^2) and adding part 0; part 1 joins afterwards.
  Ciphertext result = ImageFromDigits(context, two, Digits(context, a.parts[2]), 1, *key);
  AddTo(context, &result.parts[1], a.parts[1]);
  *out = std::move(result);
  return absl::OkStatus();
}

absl::Status ApplyGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                         uint32_t element, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  if (element == 1) {
    if (out != &a) *out = a;
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(const SwitchKey* key, keys.Galois(element, a.limbs()));
  *out = ImageFromDigits(context, a, Digits(context, a.parts[1]), element, *key);
  return absl::OkStatus();
}

absl::Status Rotate(const Context& context, Ciphertext* out, const Ciphertext& a, int64_t steps,
                    const EvaluationKeys& keys) {
  return ApplyGalois(context, out, a, RotationElement(context.params(), steps), keys);
}

absl::Status Conjugate(const Context& context, Ciphertext* out, const Ciphertext& a,
                       const EvaluationKeys& keys) {
  return ApplyGalois(context, out, a, ConjugationElement(context.params()), keys);
}

absl::StatusOr<std::vector<Ciphertext>> ApplyGaloisHoisted(const Context& context,
                                                           const Ciphertext& a,
                                                           std::span<const uint32_t> elements,
                                                           const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  HEFT_ASSIGN_OR_RETURN(auto found, FindKeys(keys, elements, a.limbs()));
  const Digits digits(context, a.parts[1]);
  std::vector<Ciphertext> images;
  for (size_t i = 0; i < elements.size(); ++i) {
    images.push_back(
        found[i] == nullptr ? a : ImageFromDigits(context, a, digits, elements[i], *found[i]));
  }
  return images;
}

absl::Status SumGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  if (elements.empty()) return absl::InvalidArgumentError("a sum of no rotations");
  const size_t n = context.n();
  const size_t limbs = a.limbs();
  HEFT_ASSIGN_OR_RETURN(auto found, FindKeys(keys, elements, limbs));
  const Digits digits(context, a.parts[1]);
  const ring::Kernels& kernels = ActiveKernels();
  RnsPoly sums[2] = {RnsPoly(n, limbs + 1), RnsPoly(n, limbs + 1)};
  AlignedVector<uint32_t> term[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
  AlignedVector<uint32_t> permuted(n);
  for (size_t l = 0; l <= limbs; ++l) {
    const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
    for (RnsPoly& sum : sums) std::fill(sum.limb(l).begin(), sum.limb(l).end(), 0);
    for (size_t i = 0; i < elements.size(); ++i) {
      if (found[i] == nullptr) continue;
      const AlignedVector<uint32_t>& table = context.permutation(elements[i]);
      SwitchLimb(context, term[0].data(), term[1].data(), digits, *found[i], l);
      for (int p = 0; p < 2; ++p) {
        kernels.permute(permuted.data(), term[p].data(), table.data(), n);
        uint32_t* v = sums[p].limb(l).data();
        kernels.add(v, v, permuted.data(), n, q);
      }
    }
  }
  Ciphertext result;
  result.scale = a.scale;
  size_t switched = 0;
  result.parts = {RnsPoly(n, limbs), RnsPoly(n, limbs)};
  for (int p = 0; p < 2; ++p) {
    DivideByLast(context, &result.parts[p], sums[p], context.special_index());
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    AddTo(context, &result.parts[0], Permuted(context, a.parts[0], elements[i]));
    if (found[i] == nullptr) AddTo(context, &result.parts[1], a.parts[1]);
    if (found[i] != nullptr) ++switched;
  }
  const Params& params = context.params();
  const double terms = static_cast<double>(elements.size());
  const double switching = std::sqrt(static_cast<double>(switched)) * KeySwitchError(params, limbs);
  result.noise = {a.noise.message * terms,
                  Combine(std::sqrt(terms) * a.noise.error,
                          Combine(switching, switched > 0 ? RoundingError(params) : 0))};
  *out = std::move(result);
  return absl::OkStatus();
}

absl::Status SumGaloisProducts(const Context& context, Ciphertext* out, const Ciphertext& a,
                               std::span<const uint32_t> elements,
                               std::span<const Plaintext> factors, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  const size_t n = context.n();
  const size_t limbs = a.limbs();
  if (elements.empty() || elements.size() != factors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(elements.size(), " rotations with ", factors.size(), " factors"));
  }
  if (std::count(elements.begin(), elements.end(), 1u) > 1) {
    return absl::InvalidArgumentError("a sum of rotations with the identity twice");
  }
  for (const Plaintext& factor : factors) {
    if (!factor.extended || factor.limbs() != limbs || factor.scale != factors[0].scale) {
      return absl::InvalidArgumentError(
          "the factors of a sum of rotations must be extended, of equal scale and level");
    }
  }
  HEFT_ASSIGN_OR_RETURN(auto found, FindKeys(keys, elements, limbs));
  const ring::Kernels& kernels = ActiveKernels();
  const Digits digits(context, a.parts[1]);
  const size_t count = elements.size();
  // All images of one limb, then one inner product with the factors.
  AlignedVector<uint32_t> images(2 * count * n), base(count * n), scratch(n);
  std::vector<const uint32_t*> image[2], factor_limbs, base_limbs;
  for (size_t i = 0; i < count; ++i) {
    image[0].push_back(images.data() + 2 * i * n);
    image[1].push_back(images.data() + (2 * i + 1) * n);
    base_limbs.push_back(base.data() + i * n);
  }
  RnsPoly sums[2] = {RnsPoly(n, limbs + 1), RnsPoly(n, limbs + 1)};
  // What needs no key switch: part 0 of every image, and part 1 where the element is 1.
  RnsPoly plain[2] = {RnsPoly(n, limbs), RnsPoly(n, limbs)};
  AlignedVector<uint32_t> term[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
  bool identity = false;
  for (size_t l = 0; l <= limbs; ++l) {
    const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
    factor_limbs.clear();
    for (const Plaintext& f : factors) factor_limbs.push_back(f.poly.limb(l).data());
    for (size_t i = 0; i < count; ++i) {
      uint32_t* target[2] = {images.data() + 2 * i * n, images.data() + (2 * i + 1) * n};
      if (found[i] == nullptr) {
        identity = true;
        for (uint32_t* t : target) std::fill_n(t, n, 0);
        continue;
      }
      const AlignedVector<uint32_t>& table = context.permutation(elements[i]);
      SwitchLimb(context, term[0].data(), term[1].data(), digits, *found[i], l);
      for (int p = 0; p < 2; ++p) kernels.permute(target[p], term[p].data(), table.data(), n);
    }
    for (int p = 0; p < 2; ++p) {
      kernels.inner_product(sums[p].limb(l).data(), image[p].data(), factor_limbs.data(), count, n,
                            q);
    }
    if (l == limbs) break;
    for (size_t i = 0; i < count; ++i) {
      uint32_t* target = base.data() + i * n;
      const uint32_t* source = a.parts[0].limb(l).data();
      if (elements[i] == 1) {
        std::copy_n(source, n, target);
        kernels.multiply(plain[1].limb(l).data(), a.parts[1].limb(l).data(), factor_limbs[i], n, q);
      } else {
        kernels.permute(target, source, context.permutation(elements[i]).data(), n);
      }
    }
    kernels.inner_product(plain[0].limb(l).data(), base_limbs.data(), factor_limbs.data(), count, n,
                          q);
  }
  Ciphertext result;
  result.scale = a.scale * factors[0].scale;
  result.parts = {RnsPoly(n, limbs), RnsPoly(n, limbs)};
  for (int p = 0; p < 2; ++p) {
    DivideByLast(context, &result.parts[p], sums[p], context.special_index());
    if (p == 0 || identity) AddTo(context, &result.parts[p], plain[p]);
  }
  const Params& params = context.params();
  Noise noise;
  noise.message = 0;
  for (size_t i = 0; i < count; ++i) {
    Noise image_noise = a.noise;
    if (found[i] != nullptr) {
      image_noise.error = Combine(image_noise.error, KeySwitchError(params, limbs));
    }
    noise =
        AddNoise(noise, MultiplyNoise(image_noise, a.scale, factors[i].noise, factors[i].scale));
  }
  noise.error = Combine(noise.error, RoundingError(params));
  result.noise = noise;
  *out = std::move(result);
  return absl::OkStatus();
}

}  // namespace heft::ckks
