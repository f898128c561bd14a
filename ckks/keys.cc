// SPDX-License-Identifier: Apache-2.0
#include "ckks/keys.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ring/sampling.h"

namespace heft::ckks {

void ExpandUniform(const Context& context, std::span<uint32_t> out, const Seed& seed, size_t digit,
                   size_t prime) {
  Csprng rng = Csprng::OfPublicSeed(seed, digit * 256 + prime);
  ring::SampleUniform(out, context.modulus(prime), rng);
}

namespace {

// InverseElement: by Newton's iteration modulo a power of two.
uint32_t InverseElement(uint32_t element, uint32_t n) {
  uint32_t inverse = element;
  for (int i = 0; i < 5; ++i) inverse *= 2 - element * inverse;
  return inverse & (2 * n - 1);
}
// InversePermutation: that of the inverse automorphism; nullptr for the identity.
const ring::Permutation* InversePermutation(const Context& context, uint32_t element) {
  if (element == 1) return nullptr;
  return &context.permutation(InverseElement(element, context.n()));
}

}  // namespace

void SwitchKey::Allocate(const Context& context, size_t limbs) {
  HEFT_DCHECK(limbs >= 1 && limbs <= context.params().limbs(), "a key of 1 to all data primes");
  n_ = context.n();
  limbs_ = limbs;
  sizes_.assign(limbs, 1);
  data_.resize(ValueCount(n_, limbs));
}

void SwitchKey::Place(const Context& context, std::span<const uint32_t> values,
                      const ring::Permutation* permutation, size_t limb, size_t digit,
                      size_t part) {
  const ring::Modulus& q = context.modulus(limb < limbs_ ? limb : context.special_index());
  AlignedVector<uint32_t> scaled(n_), permuted;
  ring::ActiveKernels().multiply_scalar(scaled.data(), values.data(), q.two32(), n_, q);
  values = scaled;
  if (permutation != nullptr) {
    permuted.resize(n_);
    ring::ActiveKernels().permute(permuted.data(), scaled.data(), *permutation, n_);
    values = permuted;
  }
  const size_t tile = std::min<size_t>(n_, ring::kTile);
  uint32_t* out = data_.data() + limb * limbs_ * 2 * n_ + (digit * 2 + part) * tile;
  for (size_t i = 0; i < n_; i += tile, out += limbs_ * 2 * tile) {
    std::copy_n(values.data() + i, tile, out);
  }
}

SwitchKey::SwitchKey(const Context& context, const SeededSwitchKey& seeded, uint32_t element) {
  HEFT_DCHECK(seeded.b.size() == seeded.limbs, "a digit for each data prime");
  Allocate(context, seeded.limbs);
  const ring::Permutation* permutation = InversePermutation(context, element);
  AlignedVector<uint32_t> a(n_);
  for (size_t digit = 0; digit < limbs_; ++digit) {
    for (size_t l = 0; l <= limbs_; ++l) {
      const size_t prime = l < limbs_ ? l : context.special_index();
      Place(context, seeded.b[digit].limb(l), permutation, l, digit, 0);
      ExpandUniform(context, a, seeded.seed, digit, prime);
      Place(context, a, permutation, l, digit, 1);
    }
  }
}

SwitchKey::SwitchKey(const Context& context, std::span<const ring::RnsPoly> b,
                     std::span<const ring::RnsPoly> a, uint32_t element) {
  HEFT_DCHECK(a.size() == b.size(), "both parts of every digit");
  Allocate(context, b.size());
  const ring::Permutation* permutation = InversePermutation(context, element);
  for (size_t digit = 0; digit < limbs_; ++digit) {
    for (size_t l = 0; l <= limbs_; ++l) {
      Place(context, b[digit].limb(l), permutation, l, digit, 0);
      Place(context, a[digit].limb(l), permutation, l, digit, 1);
    }
  }
}

SwitchKey SwitchKey::Mapped(size_t n, size_t limbs, std::shared_ptr<const uint32_t> values) {
  HEFT_DCHECK(limbs >= 1 && reinterpret_cast<uintptr_t>(values.get()) % kCacheLine == 0,
              "values on a cache line");
  SwitchKey key;
  key.n_ = n;
  key.limbs_ = limbs;
  key.sizes_.assign(limbs, 1);
  key.mapped_ = std::move(values);
  return key;
}

SwitchKey SwitchKey::WithoutLimb(size_t limb) const {
  HEFT_DCHECK(limb < limbs_ && limbs_ >= 2, "one of several data primes is left out");
  HEFT_DCHECK(digits() == limbs_, "a key of one digit a limb");
  SwitchKey out;
  out.n_ = n_;
  out.limbs_ = limbs_ - 1;
  out.sizes_.assign(out.limbs_, 1);
  out.data_.reserve(n_ * 2 * out.limbs_ * limbs_);
  const size_t digit = 2 * std::min<size_t>(n_, ring::kTile);  // both parts, one tile
  const size_t tile = limbs_ * digit;
  for (size_t l = 0; l <= limbs_; ++l) {
    if (l == limb) continue;
    const uint32_t* end = this->limb(l) + limbs_ * 2 * n_;
    for (const uint32_t* in = this->limb(l); in != end; in += tile) {
      out.data_.insert(out.data_.end(), in, in + limb * digit);
      out.data_.insert(out.data_.end(), in + (limb + 1) * digit, in + tile);
    }
  }
  return out;
}

SwitchKey SwitchKey::WithDigits(const Context& context, const DigitSizes& sizes) const {
  HEFT_DCHECK(digits() == limbs_ && n_ == context.n(),
              "a key of one digit a limb, of this context");
  SwitchKey out;
  out.n_ = n_;
  out.limbs_ = limbs_;
  for (size_t first = 0; first < limbs_; first += out.sizes_.back()) {
    const size_t digit = out.sizes_.size();
    const size_t size = digit < sizes.size() ? sizes[digit] : 1;
    out.sizes_.push_back(static_cast<uint8_t>(std::min(size, limbs_ - first)));
  }
  out.data_.reserve(n_ * 2 * out.digits() * (limbs_ + 1));
  const size_t digit = 2 * std::min<size_t>(n_, ring::kTile);  // both parts, one tile
  for (size_t l = 0; l <= limbs_; ++l) {
    const ring::Modulus& q = context.modulus(l < limbs_ ? l : context.special_index());
    const uint32_t* end = limb(l) + limbs_ * 2 * n_;
    for (const uint32_t* in = limb(l); in != end;) {
      for (const uint8_t size : out.sizes_) {
        out.data_.insert(out.data_.end(), in, in + digit);
        uint32_t* sum = &*(out.data_.end() - static_cast<std::ptrdiff_t>(digit));
        in += digit;
        if (size == 1) continue;
        for (size_t i = 0; i < digit; ++i) sum[i] = q.Add(sum[i], in[i]);
        in += digit;
      }
    }
  }
  return out;
}

absl::StatusOr<const SwitchKey*> EvaluationKeys::Galois(uint32_t element, size_t limbs) const {
  const auto it = galois.find(element);
  if (it == galois.end() || it->second.limbs() < limbs) {
    return absl::FailedPreconditionError(
        absl::StrCat("the evaluation keys lack the rotation with Galois element ", element,
                     it == galois.end() ? "" : " at this level",
                     ": make them with `heft keygen` for this model"));
  }
  return &it->second;
}

absl::StatusOr<const SwitchKey*> EvaluationKeys::Relinearisation(size_t limbs) const {
  if (relinearisation.limbs() < limbs) {
    return absl::FailedPreconditionError(
        "the evaluation keys lack relinearisation at this level: make them with `heft keygen` for "
        "this model");
  }
  return &relinearisation;
}

}  // namespace heft::ckks
