// SPDX-License-Identifier: Apache-2.0
#include "ckks/keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ring/sampling.h"

namespace heft::ckks {

void ExpandUniform(const Context& context, std::span<uint32_t> out, const Seed& seed, size_t digit,
                   size_t prime) {
  Csprng rng(seed, digit * 256 + prime);
  ring::SampleUniform(out, context.modulus(prime), rng);
}

namespace {
uint32_t InverseElement(uint32_t element, uint32_t n) {
  // Newton's iteration modulo a power of two.
  uint32_t inverse = element;
  for (int i = 0; i < 5; ++i) inverse *= 2 - element * inverse;
  return inverse & (2 * n - 1);
}
}  // namespace

// The permutation of the inverse automorphism; nullptr for the identity.
static const ring::Permutation* InversePermutation(const Context& context, uint32_t element) {
  if (element == 1) return nullptr;
  return &context.permutation(InverseElement(element, context.n()));
}

void SwitchKey::Allocate(const Context& context, size_t limbs) {
  n_ = context.n();
  limbs_ = limbs;
  data_.resize(n_ * 2 * limbs * (limbs + 1));
}

void SwitchKey::Place(std::span<const uint32_t> values, const ring::Permutation* permutation,
                      size_t limb, size_t digit, size_t part) {
  AlignedVector<uint32_t> permuted;
  if (permutation != nullptr) {
    permuted.resize(n_);
    ring::ActiveKernels().permute(permuted.data(), values.data(), *permutation, n_);
    values = permuted;
  }
  const size_t tile = std::min<size_t>(n_, ring::kTile);
  uint32_t* out = data_.data() + limb * limbs_ * 2 * n_ + (digit * 2 + part) * tile;
  for (size_t i = 0; i < n_; i += tile, out += limbs_ * 2 * tile) {
    std::copy_n(values.data() + i, tile, out);
  }
}

SwitchKey::SwitchKey(const Context& context, const SeededSwitchKey& seeded, uint32_t element) {
  Allocate(context, seeded.limbs);
  const ring::Permutation* permutation = InversePermutation(context, element);
  AlignedVector<uint32_t> a(n_);
  for (size_t digit = 0; digit < limbs_; ++digit) {
    for (size_t l = 0; l <= limbs_; ++l) {
      const size_t prime = l < limbs_ ? l : context.special_index();
      Place(seeded.b[digit].limb(l), permutation, l, digit, 0);
      ExpandUniform(context, a, seeded.seed, digit, prime);
      Place(a, permutation, l, digit, 1);
    }
  }
}

SwitchKey::SwitchKey(const Context& context, std::span<const ring::RnsPoly> b,
                     std::span<const ring::RnsPoly> a, uint32_t element) {
  Allocate(context, b.size());
  const ring::Permutation* permutation = InversePermutation(context, element);
  for (size_t digit = 0; digit < limbs_; ++digit) {
    for (size_t l = 0; l <= limbs_; ++l) {
      Place(b[digit].limb(l), permutation, l, digit, 0);
      Place(a[digit].limb(l), permutation, l, digit, 1);
    }
  }
}

SwitchKey SwitchKey::WithoutLimb(size_t limb) const {
  SwitchKey out;
  out.n_ = n_;
  out.limbs_ = limbs_ - 1;
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
