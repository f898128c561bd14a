// SPDX-License-Identifier: Apache-2.0
#include "ckks/key_switch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/key_switch_internal.h"
#include "ckks/operation_counts.h"
#include "ckks/shape.h"

namespace heft::ckks {
namespace internal {

absl::Status CheckTwoParts(const Ciphertext& a) {
  if (a.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a ciphertext of ", a.size(), " parts cannot be rotated: relinearise first"));
}

absl::Status CheckRescale(const Context& context, const Ciphertext& a) {
  if (a.limbs() > context.params().level_primes()) return absl::OkStatus();
  return absl::InvalidArgumentError("no level is left to rescale by: use deeper parameters");
}

void RescaleNoise(const Context& context, Ciphertext* c, size_t limbs) {
  const double divisor = context.params().LevelModulus(limbs);
  c->scale /= divisor;
  c->noise.error = Combine(c->noise.error / divisor, RoundingError(context.params()));
}

double SwitchingError(const Params& params, size_t limbs, size_t switches,
                      const DigitSizes& sizes) {
  if (switches == 0) return 0;
  return Combine(std::sqrt(static_cast<double>(switches)) * KeySwitchError(params, limbs, sizes),
                 RoundingError(params));
}

absl::StatusOr<FoundKeys> FindKeys(const EvaluationKeys& keys, std::span<const uint32_t> elements,
                                   size_t limbs) {
  FoundKeys found;
  bool first = true;
  for (uint32_t element : elements) {
    found.keys.push_back(nullptr);
    if (element == 1) continue;
    HEFT_ASSIGN_OR_RETURN(found.keys.back(), keys.Galois(element, limbs));
    const DigitSizes& sizes = found.keys.back()->sizes();
    if (first) found.sizes = sizes;
    first = false;
    // Keys may have different limbs: their digits must agree on the ciphertext's limbs.
    for (size_t digit = 0, limb = 0; limb < limbs; limb += sizes[digit], ++digit) {
      if (digit >= found.sizes.size() || (found.sizes[digit] != sizes[digit] && limb + 1 < limbs)) {
        return absl::InvalidArgumentError("the keys of a sum of rotations have different digits");
      }
    }
  }
  return found;
}

}  // namespace internal

namespace {

using internal::CheckRescale;
using internal::CheckTwoParts;
using internal::FindKeys;
using internal::FoundKeys;
using internal::RescaleNoise;
using internal::SwitchingError;
using ring::ActiveKernels;
using ring::RnsPoly;

RnsPoly Permuted(const Context& context, const RnsPoly& a, uint32_t element) {
  if (element == 1) return a;
  const ring::Permutation& permutation = context.permutation(element);
  RnsPoly out(a.n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    ActiveKernels().permute(out.limb(l).data(), a.limb(l).data(), permutation, a.n());
  }
  return out;
}

// ImageFromDigits: the image of `a` under one automorphism, from the digits of part 1.
Ciphertext ImageFromDigits(const Context& context, const Ciphertext& a, const Digits& digits,
                           uint32_t element, const SwitchKey& key) {
  const size_t limbs = digits.limbs();
  SwitchSum sum(context.n(), limbs);
  for (size_t l = 0; l <= limbs; ++l) {
    SwitchLimb(context, sum.part[0].limb(l).data(), sum.part[1].limb(l).data(), digits, key, l);
  }
  const RnsPoly* plain[2] = {&a.parts[0], nullptr};
  const std::vector<RnsPoly> parts = CloseSwitch(context, sum, plain, /*rescale=*/false);
  Ciphertext out;
  out.scale = a.scale;
  out.noise = {a.noise.message,
               Combine(a.noise.error, SwitchingError(context.params(), limbs, 1, key.sizes()))};
  for (const RnsPoly& part : parts) out.parts.push_back(Permuted(context, part, element));
  CountOperations({.rotations = 1});
  return out;
}

absl::Status RelineariseMaybeRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                     const EvaluationKeys& keys, bool rescale) {
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_DCHECK(a.size() == 3, "three parts are relinearised");
  const size_t limbs = a.limbs();
  HEFT_ASSIGN_OR_RETURN(const SwitchKey* key, keys.Relinearisation(limbs));
  const Digits digits(context, a.parts[2], key->sizes());
  SwitchSum sum(context.n(), limbs);
  for (size_t l = 0; l <= limbs; ++l) {
    SwitchLimb(context, sum.part[0].limb(l).data(), sum.part[1].limb(l).data(), digits, *key, l);
  }
  const RnsPoly* plain[2] = {&a.parts[0], &a.parts[1]};
  Ciphertext result;
  result.scale = a.scale;
  result.noise = {a.noise.message,
                  Combine(a.noise.error, SwitchingError(context.params(), limbs, 1, key->sizes()))};
  result.parts = CloseSwitch(context, sum, plain, rescale);
  if (rescale) RescaleNoise(context, &result, limbs);
  *out = std::move(result);
  CountOperations({.relinearisations = 1});
  return absl::OkStatus();
}

}  // namespace

absl::Status Relinearise(const Context& context, Ciphertext* out, const Ciphertext& a,
                         const EvaluationKeys& keys) {
  if (a.size() == 2) {
    if (out != &a) *out = a;
    return absl::OkStatus();
  }
  return RelineariseMaybeRescale(context, out, a, keys, /*rescale=*/false);
}

absl::Status RelineariseAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                   const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckRescale(context, a));
  if (a.size() == 2) return Rescale(context, out, a);
  return RelineariseMaybeRescale(context, out, a, keys, /*rescale=*/true);
}

namespace {

// AddImage: adds `term` under the automorphism `element` to `sum`. An argument with more than
// `limbs` limbs has the special prime's limb last.
void AddImage(const Context& context, size_t limbs, RnsPoly* sum, const RnsPoly& term,
              uint32_t element) {
  const size_t n = term.n();
  for (size_t l = 0; l < term.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
    uint32_t* v = sum->limb(l).data();
    if (element == 1) {
      ActiveKernels().add(v, v, term.limb(l).data(), n, q);
    } else {
      ActiveKernels().permute_add(v, term.limb(l).data(), context.permutation(element), n, q);
    }
  }
}

SwitchSum SwitchDigits(const Context& context, const Digits& digits, const SwitchKey& key) {
  SwitchSum sum(context.n(), digits.limbs());
  for (size_t l = 0; l <= digits.limbs(); ++l) {
    SwitchLimb(context, sum.part[0].limb(l).data(), sum.part[1].limb(l).data(), digits, key, l);
  }
  return sum;
}

absl::Status CheckImages(const Context& context, std::span<const Ciphertext> a,
                         std::span<const uint32_t> elements) {
  bool alike = !a.empty() && a.size() == elements.size();
  for (const Ciphertext& c : a) {
    alike = alike && c.size() == 3 && c.limbs() == a[0].limbs() && c.scale == a[0].scale;
  }
  if (!alike) {
    return absl::InvalidArgumentError(absl::StrCat(
        a.size(), " ciphertexts and ", elements.size(),
        " automorphisms: as many of both are needed, of three parts, one scale and as many limbs"));
  }
  for (const Ciphertext& c : a) HEFT_DCHECK_OK(CheckShape(context, c));
  return CheckRescale(context, a[0]);
}

}  // namespace

absl::Status SumImagesAndRescale(const Context& context, Ciphertext* out,
                                 std::span<const Ciphertext> a, std::span<const uint32_t> elements,
                                 const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckImages(context, a, elements));
  const size_t n = context.n(), limbs = a[0].limbs();
  HEFT_ASSIGN_OR_RETURN(const SwitchKey* relinearisation, keys.Relinearisation(limbs));
  HEFT_ASSIGN_OR_RETURN(const FoundKeys found, FindKeys(keys, elements, limbs));
  // `sum` is divided by the special prime, `plain` is not.
  SwitchSum sum(n, limbs);
  RnsPoly plain[2] = {RnsPoly(n, limbs), RnsPoly(n, limbs)};
  for (int p = 0; p < 2; ++p) {
    std::ranges::fill(sum.part[p].values(), 0u);
    std::ranges::fill(plain[p].values(), 0u);
  }
  Noise noise = {0, 0};
  for (size_t j = 0; j < a.size(); ++j) {
    const uint32_t element = elements[j];
    SwitchSum two = SwitchDigits(context, Digits(context, a[j].parts[2], relinearisation->sizes()),
                                 *relinearisation);
    double error = Combine(a[j].noise.error,
                           SwitchingError(context.params(), limbs, 1, relinearisation->sizes()));
    AddImage(context, limbs, &plain[0], a[j].parts[0], element);
    AddImage(context, limbs, &sum.part[0], two.part[0], element);
    if (element == 1) {
      AddImage(context, limbs, &plain[1], a[j].parts[1], element);
      AddImage(context, limbs, &sum.part[1], two.part[1], element);
    } else {
      RnsPoly second(n, limbs);
      DivideByLast(context, &second, two.part[1], context.special_index());
      AddImage(context, limbs, &second, a[j].parts[1], 1);
      const SwitchKey& key = *found.keys[j];
      const SwitchSum switched = SwitchDigits(context, Digits(context, second, key.sizes()), key);
      for (int p = 0; p < 2; ++p) AddImage(context, limbs, &sum.part[p], switched.part[p], element);
      error = Combine(error, SwitchingError(context.params(), limbs, 1, key.sizes()));
    }
    noise = AddNoise(noise, {a[j].noise.message, error});
  }
  const RnsPoly* const parts[2] = {&plain[0], &plain[1]};
  Ciphertext result;
  result.scale = a[0].scale;
  result.noise = noise;
  result.parts = CloseSwitch(context, sum, parts, /*rescale=*/true);
  RescaleNoise(context, &result, limbs);
  *out = std::move(result);
  const auto whole = static_cast<uint64_t>(std::ranges::count(elements, 1u));
  CountOperations({.rotations = a.size() - whole, .relinearisations = a.size()});
  return absl::OkStatus();
}

absl::Status ApplyGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                         uint32_t element, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  if (element == 1) {
    if (out != &a) *out = a;
    return absl::OkStatus();
  }
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_ASSIGN_OR_RETURN(const SwitchKey* key, keys.Galois(element, a.limbs()));
  *out = ImageFromDigits(context, a, Digits(context, a.parts[1], key->sizes()), element, *key);
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
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_ASSIGN_OR_RETURN(const FoundKeys found_keys, FindKeys(keys, elements, a.limbs()));
  const std::vector<const SwitchKey*>& found = found_keys.keys;
  const Digits digits(context, a.parts[1], found_keys.sizes);
  std::vector<Ciphertext> images(elements.size());
  ParallelFor(elements.size(), [&](size_t i) {
    images[i] =
        found[i] == nullptr ? a : ImageFromDigits(context, a, digits, elements[i], *found[i]);
  });
  return images;
}

}  // namespace heft::ckks
