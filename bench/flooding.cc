// SPDX-License-Identifier: Apache-2.0
#include "bench/flooding.h"

#include <algorithm>
#include <cmath>

#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ring/kernels.h"

namespace heft::bench::flooding {
namespace {

using ckks::Ciphertext;
using ckks::Complex;
using ckks::Plaintext;
using experiment::KeyedContext;
using ring::kTile;

constexpr int kBaseBits = 28;

// The base, two levels of two primes each, the special prime.
ckks::ParamsSpec Spec(int level_bits) {
  const int b = level_bits;
  return {.n = 8192, .data_bits = {kBaseBits, kBaseBits, b, b, b, b}, .special_bits = 30};
}

// Rotations that sum `count` slots that are `step` apart: by fours, as the product's folds.
std::vector<std::vector<uint32_t>> Folds(const ckks::Params& params, uint32_t step, uint32_t end) {
  std::vector<std::vector<uint32_t>> folds;
  for (; step < end; step *= 4) {
    std::vector<uint32_t>& fold = folds.emplace_back();
    for (uint32_t k = 0; k < 4 && k * step < end; ++k) {
      fold.push_back(ckks::RotationElement(params, k * step));
    }
  }
  return folds;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Prototype>> Prototype::Create(int level_bits, const Model& model) {
  auto out = std::unique_ptr<Prototype>(new Prototype);
  HEFT_ASSIGN_OR_RETURN(out->keyed_, KeyedContext::Create(Spec(level_bits)));
  const ckks::Params& params = out->params();
  out->scale_ = std::exp2(2 * level_bits);
  out->largest_norm_ = model.approximation.interval.hi;
  out->run_ = kDimension * kGamma / params.slots();
  for (uint32_t i = 0; i < out->run_; ++i) {
    out->baby_.push_back(ckks::RotationElement(params, i));
  }
  for (uint32_t k = 0; k < kGamma; ++k) {
    out->rotations_.push_back(ckks::RotationElement(params, k));
  }
  out->folds_ = Folds(params, kGamma, params.slots());
  std::vector<uint32_t>& last = out->folds_.back();
  const uint64_t conjugation = ckks::ConjugationElement(params);
  for (size_t i = 0, count = last.size(); i < count; ++i) {
    last.push_back(static_cast<uint32_t>(last[i] * conjugation % (2 * uint64_t{params.n()})));
  }
  out->norm_folds_ = Folds(params, 1, kGamma);
  const KeyNeeds needs = out->Needs();
  out->keyed_->MakeKeys(needs);
  out->key_bytes_ = out->SizeOfKeys(needs);
  HEFT_RETURN_IF_ERROR(out->EncodeFactors(model));
  return out;
}

KeyNeeds Prototype::Needs() const {
  KeyNeeds needs;
  needs.Galois(baby_, kInput);
  for (size_t i = 0; i < folds_.size(); ++i) needs.Galois(folds_[i], i == 0 ? kInput : kInput - 1);
  for (const auto& fold : norm_folds_) needs.Galois(fold, kZ - 1);
  needs.Galois(rotations_, kZ);
  needs.Relinearisation(kZ);
  return needs;
}

// Seeded: one part of each digit, packed.
size_t Prototype::SizeOfKeys(const KeyNeeds& needs) const {
  auto size = [&](size_t limbs) {
    size_t bits = static_cast<size_t>(params().special().bits());
    for (size_t l = 0; l < limbs; ++l) bits += static_cast<size_t>(params().modulus(l).bits());
    return limbs * bits * params().n() / 8;
  };
  size_t bytes = size(needs.relinearisation_limbs);
  for (const auto& [element, limbs] : needs.galois_keys) bytes += size(limbs);
  return bytes;
}

// Slot t holds the coordinate of its group and its place in the run (docs/design.md, "The compact
// encoding").
uint32_t Prototype::Column(uint32_t slot) const {
  slot %= params().slots();
  return run_ * (slot / kGamma) + slot % run_;
}

absl::Status Prototype::EncodeFactors(const Model& model) {
  const double rescaled = double{1.0} * params().modulus(4).value() * params().modulus(5).value();
  const size_t row = 2 * kDimension;
  for (uint32_t i = 0; i < run_; ++i) {
    std::vector<Complex> values(params().slots());
    for (uint32_t g = 0; g < values.size(); ++g) {
      const double* weights = model.projection.data() + (g % kGamma) * row + Column(g + i);
      values[g] = 0.5 * Complex(weights[0], -weights[kDimension]);
    }
    HEFT_ASSIGN_OR_RETURN(
        Plaintext factor,
        keyed_->encoder().Encode(std::span<const Complex>(values), rescaled, kInput, true));
    factors_.push_back(std::move(factor));
  }
  return absl::OkStatus();
}

// The second modality with the sign that X^(n/2) takes away again.
absl::StatusOr<std::vector<Ciphertext>> Prototype::EncryptProbe(
    const experiment::Vectors& sample) const {
  std::vector<Ciphertext> out;
  for (size_t m = 0; m < 2; ++m) {
    std::vector<double> values(params().slots());
    for (uint32_t g = 0; g < values.size(); ++g) {
      values[g] = sample[m][Column(g)] * (m == 1 && g % 2 == 1 ? -1 : 1);
    }
    HEFT_ASSIGN_OR_RETURN(
        const Plaintext plain,
        keyed_->encoder().Encode(std::span<const double>(values), scale_, kInput));
    Csprng rng;
    out.push_back(ckks::Expand(keyed_->context(), ckks::EncryptSymmetric(keyed_->context(), plain,
                                                                         keyed_->secret(), rng)));
  }
  return out;
}

void Prototype::Store(const Ciphertext& c, uint32_t k, size_t stride,
                      AlignedVector<uint32_t>* out) const {
  const size_t tiles = params().n() / kTile;
  for (size_t l = 0; l < kZ; ++l) {
    for (size_t p = 0; p < 2; ++p) {
      const uint32_t* in = c.parts[p].limb(l).data();
      for (size_t t = 0; t < tiles; ++t) {
        std::copy_n(in + t * kTile, kTile,
                    out->data() + (l * tiles + t) * stride + (2 * k + p) * kTile);
      }
    }
  }
}

absl::Status Prototype::FillBlock(std::span<const std::vector<double>> templates) {
  block_.assign(size_t{kZ} * params().n() * kGamma * 2, 0);
  for (uint32_t k = 0; k < kGamma; ++k) {
    std::vector<double> values(params().slots(), 0);
    for (uint32_t j = 0; j < templates.size(); ++j) values[j] = templates[j][(j + k) % kGamma];
    HEFT_ASSIGN_OR_RETURN(const Plaintext plain,
                          keyed_->encoder().Encode(std::span<const double>(values), scale_, kZ));
    const Ciphertext c = keyed_->Encrypt(plain);
    block_error_ = c.noise.error;
    Store(c, k, size_t{kGamma} * 2 * kTile, &block_);
  }
  return absl::OkStatus();
}

absl::StatusOr<Ciphertext> Prototype::Project(std::span<const Ciphertext> probe) const {
  const ckks::Context& context = keyed_->context();
  Ciphertext w, z;
  ckks::MultiplyByMonomial(context, &w, probe[1]);
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &w, probe[0], w));
  w.noise.message = std::sqrt(2.0 / kDimension);
  HEFT_RETURN_IF_ERROR(ckks::SumGaloisProducts(context, &z, w, baby_, factors_, keyed_->keys()));
  for (size_t i = 0; i < folds_.size(); ++i) {
    const bool rescale = i == 0 || i + 1 == folds_.size();
    HEFT_RETURN_IF_ERROR((rescale ? ckks::SumGaloisAndRescale : ckks::SumGalois)(
        context, &z, z, folds_[i], keyed_->keys()));
  }
  z.noise.message = std::sqrt(largest_norm_ / kGamma);  // as the product's fusers bound it
  return z;
}

absl::StatusOr<Ciphertext> Prototype::Norm(const Ciphertext& z) const {
  const ckks::Context& context = keyed_->context();
  Ciphertext s;
  HEFT_RETURN_IF_ERROR(ckks::Square(context, &s, z));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(context, &s, s, keyed_->keys()));
  for (size_t i = 0; i < norm_folds_.size(); ++i) {
    const bool rescale = i + 1 == norm_folds_.size();
    HEFT_RETURN_IF_ERROR((rescale ? ckks::SumGaloisAndRescale : ckks::SumGalois)(
        context, &s, s, norm_folds_[i], keyed_->keys()));
  }
  return s;
}

absl::StatusOr<Ciphertext> Prototype::Match(const Ciphertext& z) const {
  const ckks::Context& context = keyed_->context();
  const size_t n = params().n(), tiles = n / kTile;
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> rotated,
                        ckks::ApplyGaloisHoisted(context, z, rotations_, keyed_->keys()));
  const size_t stride = (size_t{kGamma} * 2 + 1) * kTile;
  AlignedVector<uint32_t> probe(kZ * tiles * stride);
  for (uint32_t k = 0; k < kGamma; ++k) Store(rotated[k], k, stride, &probe);
  Ciphertext out;
  for (int p = 0; p < 3; ++p) out.parts.emplace_back(n, kZ);
  out.scale = z.scale * scale_;
  out.noise = {1, ckks::Combine(z.scale * block_error_, scale_ * rotated[1].noise.error)};
  for (size_t l = 0; l < kZ; ++l) {
    uint32_t* const parts[] = {out.parts[0].limb(l).data(), out.parts[1].limb(l).data(),
                               out.parts[2].limb(l).data()};
    const uint32_t* const gallery[] = {block_.data() + l * n * kGamma * 2};
    ring::ActiveKernels().match(parts, probe.data() + l * tiles * stride, stride, gallery, 1,
                                kGamma, n, params().modulus(l));
  }
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(context, &out, out, keyed_->keys()));
  HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &out, out));
  return out;
}

absl::StatusOr<std::vector<Complex>> Prototype::OpenFlooded(
    const Ciphertext& c, const ckks::FloodingOptions& flooding) const {
  HEFT_ASSIGN_OR_RETURN(const Plaintext plain,
                        ckks::DecryptFlooded(keyed_->context(), c, keyed_->secret(), flooding));
  return keyed_->encoder().Decode(plain);
}

}  // namespace heft::bench::flooding
