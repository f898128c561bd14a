// SPDX-License-Identifier: Apache-2.0
#include "ckks/key_switch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/operation_counts.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;
using ring::RnsPoly;

absl::Status CheckTwoParts(const Ciphertext& a) {
  if (a.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a ciphertext of ", a.size(), " parts cannot be rotated: relinearise first"));
}

absl::Status CheckRescale(const Ciphertext& a) {
  if (a.limbs() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError("no prime is left to rescale by: use deeper parameters");
}

void AddTo(const Context& context, RnsPoly* out, const RnsPoly& a) {
  for (size_t l = 0; l < out->limbs(); ++l) {
    uint32_t* v = out->limb(l).data();
    ActiveKernels().add(v, v, a.limb(l).data(), out->n(), context.modulus(l));
  }
}

// Adds P * a to a sum in the extended basis: what is then divided by P is a.
void AddTimesSpecial(const Context& context, RnsPoly* sum, const RnsPoly& a) {
  for (size_t l = 0; l < a.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    const uint32_t p = q.Reduce(context.params().special().value());
    ActiveKernels().add_multiply_scalar(sum->limb(l).data(), a.limb(l).data(), q.Shoup(p), a.n(),
                                        q);
  }
}

// What a rescale does to scale and error.
void RescaleNoise(const Context& context, Ciphertext* c, size_t limbs) {
  const double divisor = context.modulus(limbs - 1).value();
  c->scale /= divisor;
  c->noise.error = Combine(c->noise.error / divisor, RoundingError(context.params()));
}

RnsPoly Permuted(const Context& context, const RnsPoly& a, uint32_t element) {
  if (element == 1) return a;
  const ring::Permutation& permutation = context.permutation(element);
  RnsPoly out(a.n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    ActiveKernels().permute(out.limb(l).data(), a.limb(l).data(), permutation, a.n());
  }
  return out;
}

// The error that `switches` key switches and one division by the special prime add.
double SwitchingError(const Params& params, size_t limbs, size_t switches,
                      const DigitSizes& sizes) {
  if (switches == 0) return 0;
  return Combine(std::sqrt(static_cast<double>(switches)) * KeySwitchError(params, limbs, sizes),
                 RoundingError(params));
}

// The image of (c0, part switched) under one automorphism, from the digits of part 1.
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

// Keys of all elements but 1 (nullptr there), or the first error, and the digits that they share.
struct FoundKeys {
  std::vector<const SwitchKey*> keys;
  DigitSizes sizes;
};
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
    // Keys may be cut at different limbs: the digits must agree where the ciphertext has some.
    for (size_t digit = 0, limb = 0; limb < limbs; limb += sizes[digit], ++digit) {
      if (digit >= found.sizes.size() || (found.sizes[digit] != sizes[digit] && limb + 1 < limbs)) {
        return absl::InvalidArgumentError("the keys of a sum of rotations have different digits");
      }
    }
  }
  return found;
}

// Sums the images of residues of one prime; what `out` held before is overwritten, when this object
// ends by zeros if there were none.
class ImageSum {
 public:
  ImageSum(const Context& context, uint32_t* out, const ring::Modulus& q)
      : context_(context), out_(out), q_(q) {}
  ~ImageSum() {
    if (empty_) std::fill_n(out_, context_.n(), 0);
  }
  ImageSum(const ImageSum&) = delete;
  ImageSum& operator=(const ImageSum&) = delete;

  void Add(const uint32_t* in, uint32_t element) {
    const size_t n = context_.n();
    const ring::Kernels& kernels = ActiveKernels();
    const ring::Permutation* permutation = element == 1 ? nullptr : &context_.permutation(element);
    if (empty_ && permutation == nullptr) {
      std::copy_n(in, n, out_);
    } else if (empty_) {
      kernels.permute(out_, in, *permutation, n);
    } else if (permutation == nullptr) {
      kernels.add(out_, out_, in, n, q_);
    } else {
      kernels.permute_add(out_, in, *permutation, n, q_);
    }
    empty_ = false;
  }

 private:
  const Context& context_;
  uint32_t* out_;
  const ring::Modulus& q_;
  bool empty_ = true;
};

absl::Status SumGaloisMaybeRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                   std::span<const uint32_t> elements, const EvaluationKeys& keys,
                                   bool rescale) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  if (elements.empty()) return absl::InvalidArgumentError("a sum of no rotations");
  const size_t n = context.n();
  const size_t limbs = a.limbs();
  HEFT_ASSIGN_OR_RETURN(const FoundKeys found_keys, FindKeys(keys, elements, limbs));
  const std::vector<const SwitchKey*>& found = found_keys.keys;
  const Digits digits(context, a.parts[1], found_keys.sizes);
  SwitchSum sum(n, limbs);
  RnsPoly plain[2] = {RnsPoly(n, limbs), RnsPoly(n, limbs)};
  AlignedVector<uint32_t> term0(n), term1(n);
  for (size_t l = 0; l <= limbs; ++l) {
    const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
    ImageSum sum0(context, sum.part[0].limb(l).data(), q);
    ImageSum sum1(context, sum.part[1].limb(l).data(), q);
    for (size_t i = 0; i < elements.size(); ++i) {
      if (found[i] == nullptr) continue;
      SwitchLimb(context, term0.data(), term1.data(), digits, *found[i], l);
      sum0.Add(term0.data(), elements[i]);
      sum1.Add(term1.data(), elements[i]);
    }
    if (l == limbs) break;
    // What needs no switching: part 0 of every image, and part 1 of the identity's.
    ImageSum plain0(context, plain[0].limb(l).data(), q);
    ImageSum plain1(context, plain[1].limb(l).data(), q);
    for (size_t i = 0; i < elements.size(); ++i) {
      plain0.Add(a.parts[0].limb(l).data(), elements[i]);
      if (found[i] == nullptr) plain1.Add(a.parts[1].limb(l).data(), 1);
    }
  }
  const size_t switches = elements.size() - std::count(found.begin(), found.end(), nullptr);
  const RnsPoly* const plain_parts[2] = {&plain[0], &plain[1]};
  Ciphertext result;
  result.scale = a.scale;
  result.parts = CloseSwitch(context, sum, plain_parts, rescale);
  const double terms = static_cast<double>(elements.size());
  result.noise = {a.noise.message * terms,
                  Combine(std::sqrt(terms) * a.noise.error,
                          SwitchingError(context.params(), limbs, switches, found_keys.sizes))};
  if (rescale) RescaleNoise(context, &result, limbs);
  *out = std::move(result);
  CountOperations({.additions = elements.size() - 1, .rotations = switches});
  return absl::OkStatus();
}

}  // namespace

size_t ExtendedPrime(const Context& context, size_t limb, size_t limbs) {
  return limb < limbs ? limb : context.special_index();
}

void SwitchLimb(const Context& context, uint32_t* out0, uint32_t* out1, const Digits& digits,
                const SwitchKey& key, size_t limb) {
  const size_t limbs = digits.limbs();
  // A key cut at more limbs than the ciphertext has keeps the special prime behind its own last
  // one.
  const size_t key_limb = limb < limbs ? limb : key.limbs();
  const ring::Modulus& q = context.modulus(ExtendedPrime(context, limb, limbs));
  ActiveKernels().switch_products(out0, out1, digits.limb(limb), key.limb(key_limb), key.digits(),
                                  digits.count(), context.n(), q);
}

std::vector<RnsPoly> CloseSwitch(const Context& context, SwitchSum& sum,
                                 const RnsPoly* const plain[2], bool rescale) {
  const size_t n = context.n();
  const size_t limbs = sum.part[0].limbs() - 1;
  CountOperations({.rescales = rescale ? 1u : 0u, .special_divisions = 1});
  std::vector<RnsPoly> out;
  for (int p = 0; p < 2; ++p) {
    out.emplace_back(n, limbs - (rescale ? 1 : 0));
    if (rescale) {
      if (plain[p] != nullptr) AddTimesSpecial(context, &sum.part[p], *plain[p]);
      DivideBySpecialAndLast(context, &out[p], sum.part[p]);
    } else {
      DivideByLast(context, &out[p], sum.part[p], context.special_index());
      if (plain[p] != nullptr) AddTo(context, &out[p], *plain[p]);
    }
  }
  return out;
}

Digits::Digits(const Context& context, const RnsPoly& poly, std::span<const uint8_t> sizes)
    : n_(context.n()), limbs_(poly.limbs()) {
  auto size_of = [&](size_t digit, size_t first) {
    return digit < sizes.size() ? std::min<size_t>(sizes[digit], limbs_ - first) : size_t{1};
  };
  for (size_t first = 0; first < limbs_; first += size_of(count_ - 1, first)) ++count_;
  data_.resize(n_ * count_ * (limbs_ + 1));
  CountOperations({.decompositions = 1});
  const ring::Kernels& kernels = ActiveKernels();
  const size_t tile = std::min<size_t>(n_, ring::kTile);
  AlignedVector<uint32_t> low(n_), high(n_), lifted(n_);
  size_t first = 0;
  for (size_t digit = 0; digit < count_; ++digit) {
    const size_t size = size_of(digit, first);
    auto coefficients = [&](AlignedVector<uint32_t>& out, size_t limb) {
      std::copy(poly.limb(limb).begin(), poly.limb(limb).end(), out.begin());
      context.ntt(limb).Inverse(out);
    };
    coefficients(low, first);
    if (size == 2) {
      // The digit is low + q_first * high, both centred (Garner).
      const ring::Modulus& q = context.modulus(first + 1);
      coefficients(high, first + 1);
      kernels.lift(lifted.data(), low.data(), context.lift(first, first + 1), n_, q);
      kernels.subtract_multiply_scalar(high.data(), high.data(), lifted.data(),
                                       context.inverse(first, first + 1), n_, q);
    }
    for (size_t limb = 0; limb <= limbs_; ++limb) {
      uint32_t* out = data_.data() + limb * count_ * n_ + digit * tile;
      if (limb >= first && limb < first + size) {  // its own residues need no lift
        const std::span<const uint32_t> own = poly.limb(limb);
        for (size_t i = 0; i < n_; i += tile) std::copy_n(&own[i], tile, out + i * count_);
        continue;
      }
      const size_t prime = ExtendedPrime(context, limb, limbs_);
      const ring::Modulus& q = context.modulus(prime);
      if (size == 2) {
        kernels.lift_sum(lifted.data(), low.data(), context.lift(first, prime), high.data(),
                         context.lift(first + 1, prime),
                         q.Shoup(q.Reduce(context.modulus(first).value())), n_, q);
      } else {
        kernels.lift(lifted.data(), low.data(), context.lift(first, prime), n_, q);
      }
      context.ntt(prime).ForwardTiled(out, count_ * tile, lifted);
    }
    first += size;
  }
}

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
  HEFT_RETURN_IF_ERROR(CheckRescale(a));
  if (a.size() == 2) return Rescale(context, out, a);
  return RelineariseMaybeRescale(context, out, a, keys, /*rescale=*/true);
}

absl::Status ApplyGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                         uint32_t element, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  if (element == 1) {
    if (out != &a) *out = a;
    return absl::OkStatus();
  }
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
  HEFT_ASSIGN_OR_RETURN(const FoundKeys found_keys, FindKeys(keys, elements, a.limbs()));
  const std::vector<const SwitchKey*>& found = found_keys.keys;
  const Digits digits(context, a.parts[1], found_keys.sizes);
  std::vector<Ciphertext> images;
  for (size_t i = 0; i < elements.size(); ++i) {
    images.push_back(
        found[i] == nullptr ? a : ImageFromDigits(context, a, digits, elements[i], *found[i]));
  }
  return images;
}

absl::Status SumGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  return SumGaloisMaybeRescale(context, out, a, elements, keys, /*rescale=*/false);
}

absl::Status SumGaloisAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                 std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckRescale(a));
  return SumGaloisMaybeRescale(context, out, a, elements, keys, /*rescale=*/true);
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
  HEFT_ASSIGN_OR_RETURN(const FoundKeys found_keys, FindKeys(keys, elements, limbs));
  const std::vector<const SwitchKey*>& found = found_keys.keys;
  const ring::Kernels& kernels = ActiveKernels();
  const Digits digits(context, a.parts[1], found_keys.sizes);
  const size_t count = elements.size();
  // All images modulo one prime, then one inner product with the factors.
  AlignedVector<uint32_t> images(3 * count * n), term0(n), term1(n);
  std::vector<const uint32_t*> image[3];
  for (size_t i = 0; i < 3 * count; ++i) image[i / count].push_back(images.data() + i * n);
  auto slot = [&](size_t which, size_t i) { return images.data() + (which * count + i) * n; };
  SwitchSum sum(n, limbs);
  RnsPoly plain[2] = {RnsPoly(n, limbs), RnsPoly(n, limbs)};
  bool identity = false;
  for (size_t l = 0; l <= limbs; ++l) {
    const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
    std::vector<const uint32_t*> factor;
    for (const Plaintext& f : factors) factor.push_back(f.poly.limb(l).data());
    for (size_t i = 0; i < count; ++i) {
      if (found[i] == nullptr) {
        identity = true;
        std::fill_n(slot(0, i), n, 0);
        std::fill_n(slot(1, i), n, 0);
        if (l == limbs) continue;
        std::copy_n(a.parts[0].limb(l).data(), n, slot(2, i));
        kernels.multiply(plain[1].limb(l).data(), a.parts[1].limb(l).data(), factor[i], n, q);
        continue;
      }
      const ring::Permutation& permutation = context.permutation(elements[i]);
      SwitchLimb(context, term0.data(), term1.data(), digits, *found[i], l);
      kernels.permute(slot(0, i), term0.data(), permutation, n);
      kernels.permute(slot(1, i), term1.data(), permutation, n);
      if (l < limbs) kernels.permute(slot(2, i), a.parts[0].limb(l).data(), permutation, n);
    }
    for (int p = 0; p < 2; ++p) {
      kernels.inner_product(sum.part[p].limb(l).data(), image[p].data(), factor.data(), count, n,
                            q);
    }
    if (l == limbs) break;
    kernels.inner_product(plain[0].limb(l).data(), image[2].data(), factor.data(), count, n, q);
  }
  const RnsPoly* const plain_parts[2] = {&plain[0], identity ? &plain[1] : nullptr};
  Ciphertext result;
  result.scale = a.scale * factors[0].scale;
  result.parts = CloseSwitch(context, sum, plain_parts, /*rescale=*/false);
  const Params& params = context.params();
  Noise noise;
  noise.message = 0;
  for (size_t i = 0; i < count; ++i) {
    Noise image_noise = a.noise;
    if (found[i] != nullptr) {
      image_noise.error =
          Combine(image_noise.error, KeySwitchError(params, limbs, found_keys.sizes));
    }
    noise =
        AddNoise(noise, MultiplyNoise(image_noise, a.scale, factors[i].noise, factors[i].scale));
  }
  noise.error = Combine(noise.error, RoundingError(params));
  result.noise = noise;
  *out = std::move(result);
  CountOperations(
      {.additions = count - 1, .plain_products = count, .rotations = count - (identity ? 1 : 0)});
  return absl::OkStatus();
}

}  // namespace heft::ckks
