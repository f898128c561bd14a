// SPDX-License-Identifier: Apache-2.0
// Sums of rotations with one decomposition and one division by the special prime.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ckks/digits.h"
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

// ImageSum sums the images of residues of one prime; what `out` held before is overwritten, when
// this object ends by zeros if there were none.
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
  HEFT_DCHECK_OK(CheckShape(context, a));
  const size_t n = context.n();
  const size_t limbs = a.limbs();
  HEFT_ASSIGN_OR_RETURN(const internal::FoundKeys found_keys, FindKeys(keys, elements, limbs));
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
        images_(3 * elements.size() * n_),
        term0_(n_),
        term1_(n_) {
    for (std::span<const Plaintext> set : factors) {
      sums_.push_back({set, SwitchSum(n_, limbs_), {RnsPoly(n_, limbs_), RnsPoly(n_, limbs_)}});
    }
    for (size_t which = 0; which < 3; ++which) {
      for (size_t i = 0; i < elements.size(); ++i) image_[which].push_back(Slot(which, i));
    }
  }

  // Close: the parts of each whole sum.
  std::vector<std::vector<RnsPoly>> Close() {
    for (size_t l = 0; l <= limbs_; ++l) AddLimb(l);
    const bool identity = std::count(keys_.begin(), keys_.end(), nullptr) != 0;
    std::vector<std::vector<RnsPoly>> parts;
    for (Sum& sum : sums_) {
      const RnsPoly* const plain[2] = {&sum.plain[0], identity ? &sum.plain[1] : nullptr};
      parts.push_back(CloseSwitch(context_, sum.switched, plain, /*rescale=*/false));
    }
    return parts;
  }

 private:
  // Sum: of the images with one set of factors; `plain` is what is not switched.
  struct Sum {
    std::span<const Plaintext> factors;
    SwitchSum switched;
    RnsPoly plain[2];
  };

  // Slot: image i of what is switched (0 and 1: both parts of the key's sum) or is not (2: part 0).
  uint32_t* Slot(size_t which, size_t i) {
    return images_.data() + (which * elements_.size() + i) * n_;
  }

  void AddLimb(size_t l) {
    for (size_t i = 0; i < elements_.size(); ++i) {
      if (keys_[i] == nullptr) {
        Identity(l, i);
      } else {
        Image(l, i);
      }
    }
    const ring::Modulus& q = context_.modulus(ExtendedPrime(context_, l, limbs_));
    for (Sum& sum : sums_) AddProducts(l, q, &sum);
  }

  void AddProducts(size_t l, const ring::Modulus& q, Sum* sum) {
    const ring::Kernels& kernels = ActiveKernels();
    const size_t count = elements_.size();
    std::vector<const uint32_t*> factor;
    for (const Plaintext& f : sum->factors) factor.push_back(f.poly.limb(l).data());
    for (int p = 0; p < 2; ++p) {
      kernels.inner_product(sum->switched.part[p].limb(l).data(), image_[p].data(), factor.data(),
                            count, n_, q);
    }
    if (l == limbs_) return;
    kernels.inner_product(sum->plain[0].limb(l).data(), image_[2].data(), factor.data(), count, n_,
                          q);
    for (size_t i = 0; i < count; ++i) {
      // The identity's part 1 joins the sum as it is.
      if (keys_[i] != nullptr) continue;
      kernels.multiply(sum->plain[1].limb(l).data(), a_.parts[1].limb(l).data(), factor[i], n_, q);
    }
  }

  // Identity: nothing is switched.
  void Identity(size_t l, size_t i) {
    std::fill_n(Slot(0, i), n_, 0);
    std::fill_n(Slot(1, i), n_, 0);
    if (l < limbs_) std::copy_n(a_.parts[0].limb(l).data(), n_, Slot(2, i));
  }

  void Image(size_t l, size_t i) {
    const ring::Kernels& kernels = ActiveKernels();
    const ring::Permutation& permutation = context_.permutation(elements_[i]);
    SwitchLimb(context_, term0_.data(), term1_.data(), digits_, *keys_[i], l);
    kernels.permute(Slot(0, i), term0_.data(), permutation, n_);
    kernels.permute(Slot(1, i), term1_.data(), permutation, n_);
    if (l < limbs_) kernels.permute(Slot(2, i), a_.parts[0].limb(l).data(), permutation, n_);
  }

  const Context& context_;
  const Ciphertext& a_;
  std::span<const uint32_t> elements_;
  const std::vector<const SwitchKey*>& keys_;
  size_t n_, limbs_;
  Digits digits_;
  AlignedVector<uint32_t> images_, term0_, term1_;
  std::vector<const uint32_t*> image_[3];
  std::vector<Sum> sums_;
};

// ProductsNoise: that of the sum of the images' products.
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
  noise.error = Combine(noise.error, RoundingError(params));
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
  Ciphertext result;
  HEFT_RETURN_IF_ERROR(
      SumGaloisProducts(context, std::span(&result, 1), a, elements, std::span(&factors, 1), keys));
  *out = std::move(result);
  return absl::OkStatus();
}

absl::Status SumGaloisProducts(const Context& context, std::span<Ciphertext> out,
                               const Ciphertext& a, std::span<const uint32_t> elements,
                               std::span<const std::span<const Plaintext>> factors,
                               const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTwoParts(a));
  HEFT_DCHECK(out.size() == factors.size(), "one sum for each set of factors");
  for (std::span<const Plaintext> set : factors) {
    HEFT_RETURN_IF_ERROR(CheckFactors(elements, set, a.limbs()));
  }
  HEFT_DCHECK_OK(CheckShape(context, a));
  HEFT_ASSIGN_OR_RETURN(const internal::FoundKeys found, FindKeys(keys, elements, a.limbs()));
  std::vector<std::vector<RnsPoly>> parts =
      ProductSum(context, a, elements, factors, found).Close();
  const size_t count = elements.size();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].scale = a.scale * factors[i][0].scale;
    out[i].parts = std::move(parts[i]);
    out[i].noise = ProductsNoise(context.params(), a, factors[i], found);
    CountOperations({.additions = count - 1, .plain_products = count});
  }
  CountOperations({.rotations = count - static_cast<size_t>(std::count(
                                            found.keys.begin(), found.keys.end(), nullptr))});
  return absl::OkStatus();
}

}  // namespace heft::ckks
