// SPDX-License-Identifier: Apache-2.0
// Sums of rotations with one decomposition and one division by the special prime.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/extended_ciphertext.h"
#include "ckks/key_switch.h"
#include "ckks/key_switch_internal.h"
#include "ckks/operation_counts.h"
#include "ckks/shape.h"

namespace heft::ckks {
namespace {

using internal::CheckRescale;
using internal::CheckTwoParts;
using internal::FindKeys;
using internal::RescaleNoise;
using internal::SwitchingError;
using ring::ActiveKernels;
using ring::RnsPoly;

// ImageSum: sums the images of residues of one prime. It overwrites `out` unless it adds to it;
// without any images, its destructor writes zeros.
class ImageSum {
 public:
  ImageSum(const Context& context, uint32_t* out, const ring::Modulus& q, bool add)
      : context_(context), out_(out), q_(q), empty_(!add) {}
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
  bool empty_;
};

// Switched: the inputs of a sum of rotations.
struct Switched {
  const Digits& digits;  // of part 1
  const RnsPoly& part0;  // times P; without the special prime's limb if that is zero
  const RnsPoly* part1;  // the same, if the identity is among `elements`
  std::span<const uint32_t> elements;
  const internal::FoundKeys& found;
  size_t switches() const {
    return elements.size() - std::count(found.keys.begin(), found.keys.end(), nullptr);
  }
};

// SumImages: the sum of all images, into `sum` or added to it.
void SumImages(const Context& context, SwitchSum* sum, const Switched& a, bool add) {
  const size_t n = context.n(), limbs = a.digits.limbs();
  AlignedVector<uint32_t> term0(n), term1(n);
  for (size_t l = 0; l <= limbs; ++l) {
    const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
    const uint32_t* own = l < a.part0.limbs() ? a.part0.limb(l).data() : nullptr;
    ImageSum sum0(context, sum->part[0].limb(l).data(), q, add);
    ImageSum sum1(context, sum->part[1].limb(l).data(), q, add);
    for (size_t i = 0; i < a.elements.size(); ++i) {
      if (a.found.keys[i] == nullptr) {
        if (own == nullptr) continue;
        sum0.Add(own, 1);
        sum1.Add(a.part1->limb(l).data(), 1);
        continue;
      }
      SwitchLimb(context, term0.data(), term1.data(), a.digits, *a.found.keys[i], l);
      if (own != nullptr) ActiveKernels().add(term0.data(), term0.data(), own, n, q);
      sum0.Add(term0.data(), a.elements[i]);
      sum1.Add(term1.data(), a.elements[i]);
    }
  }
}

absl::Status SumGaloisMaybeRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                   std::span<const uint32_t> elements, const EvaluationKeys& keys,
                                   bool rescale) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  if (elements.empty()) return absl::InvalidArgumentError("a sum of no rotations");
  HEFT_DCHECK_OK(CheckShape(context, a));
  const size_t limbs = a.limbs();
  HEFT_ASSIGN_OR_RETURN(const internal::FoundKeys found, FindKeys(keys, elements, limbs));
  const Digits digits(context, a.parts[1], found.sizes);
  const RnsPoly part0 = TimesSpecial(context, a.parts[0]);
  const bool identity = std::count(elements.begin(), elements.end(), 1u) != 0;
  const RnsPoly part1 = identity ? TimesSpecial(context, a.parts[1]) : RnsPoly();
  const Switched switched{digits, part0, &part1, elements, found};
  SwitchSum sum(context.n(), limbs);
  SumImages(context, &sum, switched, /*add=*/false);
  const RnsPoly* const nothing[2] = {nullptr, nullptr};
  const size_t switches = switched.switches();
  Ciphertext result;
  result.scale = a.scale;
  result.parts = CloseSwitch(context, sum, nothing, rescale);
  const double terms = static_cast<double>(elements.size());
  result.noise = {a.noise.message * terms,
                  Combine(std::sqrt(terms) * a.noise.error,
                          SwitchingError(context.params(), limbs, switches, found.sizes))};
  if (rescale) RescaleNoise(context, &result, limbs);
  *out = std::move(result);
  CountOperations({.additions = elements.size() - 1, .rotations = switches});
  return absl::OkStatus();
}

// Combined: a sum or difference, by the kernel.
absl::Status Combined(const Context& context, ExtendedCiphertext* out, const ExtendedCiphertext& a,
                      decltype(ring::Kernels::add) kernel) {
  if (out->limbs() != a.limbs() || std::abs(out->scale - a.scale) > 1e-9 * a.scale) {
    return absl::InvalidArgumentError("sums of products of different limbs or scales");
  }
  for (size_t part = 0; part < 2; ++part) {
    for (size_t l = 0; l <= a.limbs(); ++l) {
      uint32_t* v = out->sum.part[part].limb(l).data();
      kernel(v, v, a.sum.part[part].limb(l).data(), context.n(),
             context.modulus(ExtendedPrime(context, l, a.limbs())));
    }
  }
  out->noise = AddNoise(out->noise, a.noise);
  CountOperations({.additions = 1});
  return absl::OkStatus();
}

// SumExtended: the images of `a`, into `sum` or added to it.
absl::Status SumExtended(const Context& context, ExtendedCiphertext* sum,
                         const ExtendedCiphertext& a, std::span<const uint32_t> elements,
                         const EvaluationKeys& keys, bool add) {
  if (elements.empty()) return absl::InvalidArgumentError("a sum of no rotations");
  const size_t limbs = a.limbs();
  HEFT_ASSIGN_OR_RETURN(const internal::FoundKeys found, FindKeys(keys, elements, limbs));
  RnsPoly divided(context.n(), limbs);
  DivideCopyByLast(context, &divided, a.sum.part[1], context.special_index());
  const Digits digits(context, divided, found.sizes);
  const Switched switched{digits, a.sum.part[0], &a.sum.part[1], elements, found};
  SumImages(context, &sum->sum, switched, add);
  const size_t switches = switched.switches();
  const double terms = static_cast<double>(elements.size());
  // The decomposed part has been rounded.
  const double error = Combine(a.noise.error, RoundingError(context.params()));
  const Noise noise = {a.noise.message * terms,
                       Combine(std::sqrt(terms) * error,
                               SwitchingError(context.params(), limbs, switches, found.sizes))};
  sum->noise = add ? AddNoise(sum->noise, noise) : noise;
  CountOperations({.additions = elements.size() - (add ? 0 : 1),
                   .rotations = switches,
                   .special_divisions = 1});
  return absl::OkStatus();
}

// CheckFactors: extended plaintexts, one for each of `elements`, of equal scale and `limbs` limbs.
absl::Status CheckFactors(std::span<const uint32_t> elements, std::span<const Plaintext> factors,
                          size_t limbs) {
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
  return absl::OkStatus();
}

// ProductSum: all images of one ciphertext modulo one prime, then one inner product with each set
// of factors, prime by prime.
class ProductSum {
 public:
  ProductSum(const Context& context, const Ciphertext& a, std::span<const uint32_t> elements,
             std::span<const std::span<const Plaintext>> factors, const internal::FoundKeys& found)
      : context_(context),
        a_(a),
        elements_(elements),
        keys_(found.keys),
        n_(context.n()),
        limbs_(a.limbs()),
        digits_(context, a.parts[1], found.sizes),
        images_(2 * elements.size() * n_),
        term0_(n_),
        term1_(n_),
        own_(n_) {
    for (std::span<const Plaintext> set : factors) sums_.push_back({set, SwitchSum(n_, limbs_)});
    for (size_t part = 0; part < 2; ++part) {
      for (size_t i = 0; i < elements.size(); ++i) image_[part].push_back(Slot(part, i));
    }
  }

  // Take: the sums before their division by the special prime.
  std::vector<SwitchSum> Take() {
    for (size_t l = 0; l <= limbs_; ++l) AddLimb(l);
    std::vector<SwitchSum> out;
    for (Sum& sum : sums_) out.push_back(std::move(sum.switched));
    return out;
  }

 private:
  // Sum: the sum of images with one set of factors.
  struct Sum {
    std::span<const Plaintext> factors;
    SwitchSum switched;
  };

  // Slot: one part of image i.
  uint32_t* Slot(size_t part, size_t i) {
    return images_.data() + (part * elements_.size() + i) * n_;
  }

  void AddLimb(size_t l) {
    if (l < limbs_) TimesSpecial(context_, own_.data(), a_.parts[0].limb(l).data(), l);
    const ring::Modulus& q = context_.modulus(ExtendedPrime(context_, l, limbs_));
    for (size_t i = 0; i < elements_.size(); ++i) {
      if (keys_[i] == nullptr) {
        Identity(l, i);
      } else {
        Image(l, q, i);
      }
    }
    for (Sum& sum : sums_) {
      std::vector<const uint32_t*> factor;
      for (const Plaintext& f : sum.factors) factor.push_back(f.poly.limb(l).data());
      for (size_t part = 0; part < 2; ++part) {
        ActiveKernels().inner_product(sum.switched.part[part].limb(l).data(), image_[part].data(),
                                      factor.data(), elements_.size(), n_, q);
      }
    }
  }

  // Identity: copies without a key switch.
  void Identity(size_t l, size_t i) {
    if (l == limbs_) {
      std::fill_n(Slot(0, i), n_, 0);
      std::fill_n(Slot(1, i), n_, 0);
      return;
    }
    std::copy_n(own_.data(), n_, Slot(0, i));
    TimesSpecial(context_, Slot(1, i), a_.parts[1].limb(l).data(), l);
  }

  void Image(size_t l, const ring::Modulus& q, size_t i) {
    const ring::Kernels& kernels = ActiveKernels();
    const ring::Permutation& permutation = context_.permutation(elements_[i]);
    SwitchLimb(context_, term0_.data(), term1_.data(), digits_, *keys_[i], l);
    if (l < limbs_) kernels.add(term0_.data(), term0_.data(), own_.data(), n_, q);
    kernels.permute(Slot(0, i), term0_.data(), permutation, n_);
    kernels.permute(Slot(1, i), term1_.data(), permutation, n_);
  }

  const Context& context_;
  const Ciphertext& a_;
  std::span<const uint32_t> elements_;
  const std::vector<const SwitchKey*>& keys_;
  size_t n_, limbs_;
  Digits digits_;
  AlignedVector<uint32_t> images_, term0_, term1_;
  AlignedVector<uint32_t> own_;  // part 0 times P
  std::vector<const uint32_t*> image_[2];
  std::vector<Sum> sums_;
};

// ProductsNoise: the noise of the sum of the images' products, before the division.
Noise ProductsNoise(const Params& params, const Ciphertext& a, std::span<const Plaintext> factors,
                    const internal::FoundKeys& found) {
  Noise noise{0, 0};
  for (size_t i = 0; i < factors.size(); ++i) {
    Noise image = a.noise;
    if (found.keys[i] != nullptr) {
      image.error = Combine(image.error, KeySwitchError(params, a.limbs(), found.sizes));
    }
    noise = AddNoise(noise, MultiplyNoise(image, a.scale, factors[i].noise, factors[i].scale));
  }
  return noise;
}

}  // namespace

absl::Status SumGalois(const Context& context, Ciphertext* out, const Ciphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  return SumGaloisMaybeRescale(context, out, a, elements, keys, /*rescale=*/false);
}

absl::Status SumGaloisAndRescale(const Context& context, Ciphertext* out, const Ciphertext& a,
                                 std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckRescale(context, a));
  return SumGaloisMaybeRescale(context, out, a, elements, keys, /*rescale=*/true);
}

absl::Status SumGaloisProducts(const Context& context, Ciphertext* out, const Ciphertext& a,
                               std::span<const uint32_t> elements,
                               std::span<const Plaintext> factors, const EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(
      std::vector<ExtendedCiphertext> sums,
      SumGaloisProductsExtended(context, a, elements, std::span(&factors, 1), keys));
  Divide(context, out, sums[0]);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ExtendedCiphertext>> SumGaloisProductsExtended(
    const Context& context, const Ciphertext& a, std::span<const uint32_t> elements,
    std::span<const std::span<const Plaintext>> factors, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  for (std::span<const Plaintext> set : factors) {
    HEFT_RETURN_IF_ERROR(CheckFactors(elements, set, a.limbs()));
  }
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_ASSIGN_OR_RETURN(const internal::FoundKeys found, FindKeys(keys, elements, a.limbs()));
  std::vector<SwitchSum> sums = ProductSum(context, a, elements, factors, found).Take();
  const size_t count = elements.size();
  std::vector<ExtendedCiphertext> out;
  for (size_t i = 0; i < sums.size(); ++i) {
    out.push_back({std::move(sums[i]), a.scale * factors[i][0].scale,
                   ProductsNoise(context.params(), a, factors[i], found)});
    CountOperations({.additions = count - 1, .plain_products = count});
  }
  CountOperations({.rotations = count - static_cast<size_t>(std::count(
                                            found.keys.begin(), found.keys.end(), nullptr))});
  return out;
}

absl::StatusOr<std::vector<ExtendedCiphertext>> SumGaloisProductsInSteps(
    const Context& context, const Ciphertext& a, std::span<const uint32_t> babies,
    std::span<const uint32_t> giants, std::span<const std::span<const Plaintext>> factors,
    const EvaluationKeys& keys) {
  HEFT_DCHECK(!giants.empty() && giants[0] == 1, "the first giant is the identity");
  std::vector<std::span<const Plaintext>> parts;  // [set][giant]
  for (const std::span<const Plaintext> set : factors) {
    if (set.size() != babies.size() * giants.size()) {
      return absl::InvalidArgumentError(absl::StrCat(babies.size(), " by ", giants.size(),
                                                     " rotations with ", set.size(), " factors"));
    }
    for (size_t j = 0; j < giants.size(); ++j) {
      parts.push_back(set.subspan(j * babies.size(), babies.size()));
    }
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<ExtendedCiphertext> sums,
                        SumGaloisProductsExtended(context, a, babies, parts, keys));
  std::vector<ExtendedCiphertext> out;
  for (size_t set = 0; set < factors.size(); ++set) {
    ExtendedCiphertext& whole = out.emplace_back(std::move(sums[set * giants.size()]));
    for (size_t j = 1; j < giants.size(); ++j) {
      HEFT_RETURN_IF_ERROR(
          AddGalois(context, &whole, sums[set * giants.size() + j], giants.subspan(j, 1), keys));
    }
  }
  return out;
}

absl::Status SumGalois(const Context& context, ExtendedCiphertext* out, const ExtendedCiphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  ExtendedCiphertext sum{SwitchSum(context.n(), a.limbs()), a.scale, {}};
  HEFT_RETURN_IF_ERROR(SumExtended(context, &sum, a, elements, keys, /*add=*/false));
  *out = std::move(sum);
  return absl::OkStatus();
}

absl::Status AddGalois(const Context& context, ExtendedCiphertext* sum, const ExtendedCiphertext& a,
                       std::span<const uint32_t> elements, const EvaluationKeys& keys) {
  HEFT_DCHECK(sum != &a && sum->limbs() == a.limbs(), "another ciphertext of as many limbs");
  return SumExtended(context, sum, a, elements, keys, /*add=*/true);
}

absl::Status Add(const Context& context, ExtendedCiphertext* sum, const ExtendedCiphertext& a) {
  return Combined(context, sum, a, ActiveKernels().add);
}

absl::Status Subtract(const Context& context, ExtendedCiphertext* difference,
                      const ExtendedCiphertext& a) {
  return Combined(context, difference, a, ActiveKernels().subtract);
}

void Divide(const Context& context, Ciphertext* out, ExtendedCiphertext& in) {
  const RnsPoly* const nothing[2] = {nullptr, nullptr};
  out->parts = CloseSwitch(context, in.sum, nothing, /*rescale=*/false);
  out->scale = in.scale;
  out->noise = in.noise;
  out->noise.error = Combine(out->noise.error, RoundingError(context.params()));
}

absl::Status DivideAndRescale(const Context& context, Ciphertext* out, ExtendedCiphertext& in) {
  const size_t limbs = in.limbs();
  if (limbs <= context.params().level_primes()) {
    return absl::InvalidArgumentError("no level is left to divide by");
  }
  const RnsPoly* const nothing[2] = {nullptr, nullptr};
  out->parts = CloseSwitch(context, in.sum, nothing, /*rescale=*/true);
  out->scale = in.scale;
  out->noise = in.noise;
  RescaleNoise(context, out, limbs);
  return absl::OkStatus();
}

}  // namespace heft::ckks
