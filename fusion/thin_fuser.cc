// SPDX-License-Identifier: Apache-2.0
#include "fusion/thin_fuser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/noise.h"
#include "fusion/compact.h"
#include "fusion/mean.h"
#include "fusion/norm_factor.h"
#include "fusion/norm_proof.h"
#include "ring/kernels.h"

namespace heft {

using ckks::Ciphertext;
using ckks::ExtendedCiphertext;

namespace {

// The products are of z / 2, because adding the conjugate doubles.
constexpr double kHalf = 0.5;

// kFiner: how much finer the coefficients are stored than the projection's factors.
constexpr double kFiner = 16;

// CoefficientsOf: a plaintext's coefficients, which are below half of the product of two primes.
std::vector<double> CoefficientsOf(const ckks::Context& context, ckks::Plaintext plain) {
  const ring::Modulus &q = context.modulus(0), &r = context.modulus(1);
  const std::span<uint32_t> low = plain.poly.limb(0), high = plain.poly.limb(1);
  context.ntt(0).Inverse(low);
  context.ntt(1).Inverse(high);
  const uint32_t inverse = r.Inverse(q.value() % r.value());
  const auto both = static_cast<int64_t>(uint64_t{q.value()} * r.value());
  std::vector<double> out(context.n());
  for (size_t i = 0; i < out.size(); ++i) {
    const uint32_t difference = (high[i] + r.value() - low[i] % r.value()) % r.value();
    const auto value = static_cast<int64_t>(
        low[i] + uint64_t{q.value()} * (uint64_t{difference} * inverse % r.value()));
    out[i] = static_cast<double>(value > both / 2 ? value - both : value);
  }
  return out;
}

// RoundLarge: `a` times `factor`, rounded to integers of any size, modulo q.
void RoundLarge(std::span<const double> a, double factor, const ring::Modulus& q,
                std::span<uint32_t> out) {
  for (size_t i = 0; i < a.size(); ++i) out[i] = q.ReduceSigned(std::llround(a[i] * factor));
}

}  // namespace

absl::StatusOr<ThinFuser> ThinFuser::Create(const Instance& matching, const Model& model,
                                            const ckks::EvaluationKeys* keys, size_t samples) {
  HEFT_RETURN_IF_ERROR(CheckMean(model, samples));
  ThinFuser out;
  out.mean_factor_ = MeanFactor(model, samples);
  out.matching_ = matching;
  out.model_ = model;
  out.keys_ = keys;
  FitPlanToKeys(*keys, &out.matching_.plan);
  HEFT_ASSIGN_OR_RETURN(Fuser fuser, Fuser::Create(out.matching_, model, keys, samples, kHalf));
  out.fuser_ = std::make_unique<Fuser>(std::move(fuser));
  HEFT_RETURN_IF_ERROR(out.MakeImaginary());
  return out;
}

absl::StatusOr<ThinFuser::Factors> ThinFuser::Encode(double times) const {
  Factors factors;
  for (const PackedPair& pair : matching_.plan.projection.pairs) {
    HEFT_ASSIGN_OR_RETURN(auto of_pair,
                          EncodeCompactFactors(matching_, model_, pair, times * mean_factor_));
    factors.push_back(std::move(of_pair));
  }
  return factors;
}

absl::Status ThinFuser::MakeImaginary() {
  const ckks::Context& context = *matching_.context;
  HEFT_ASSIGN_OR_RETURN(Factors factors, Encode(kHalf / std::sqrt(2.0) * kFiner));
  uint32_t least = context.modulus(0).value();
  for (size_t i = 0; i <= context.special_index(); ++i) {
    least = std::min(least, context.modulus(i).value());
  }
  for (std::vector<ckks::Plaintext>& of_pair : factors) {
    auto& kept = imaginary_.emplace_back();
    for (ckks::Plaintext& factor : of_pair) {
      ckks::MultiplyByRootOfMinusTwo(context, &factor);
      std::vector<double> exact = CoefficientsOf(context, std::move(factor));
      double largest = 0;
      for (double v : exact) largest = std::max(largest, std::abs(v));
      if (largest * kLargestNormFactor / kFiner < least - 1.0) {
        kept.push_back({AlignedVector<float>(exact.begin(), exact.end()), {}});
      } else {
        kept.push_back({{}, std::move(exact)});
      }
    }
  }
  return absl::OkStatus();
}

void ThinFuser::Turn(double sigma, const ckks::Plaintext& factor, const Coefficients& imaginary,
                     ckks::Plaintext* out) const {
  const ckks::Context& context = *matching_.context;
  const double times = sigma / kFiner;
  if (out->poly.limbs() == 0) out->poly = ring::RnsPoly(context.n(), factor.poly.limbs());
  out->scale = factor.scale;
  out->noise = {sigma * factor.noise.message, factor.noise.error};
  out->extended = factor.extended;
  for (size_t l = 0; l < factor.poly.limbs(); ++l) {
    const size_t prime = ckks::ExtendedPrime(context, l, factor.limbs());
    const ring::Modulus& q = context.modulus(prime);
    const std::span<uint32_t> limb = out->poly.limb(l);
    if (imaginary.small.empty()) {
      RoundLarge(imaginary.large, times, q, limb);
    } else {
      ring::ActiveKernels().round_scaled(limb.data(), imaginary.small.data(),
                                         static_cast<float>(times), limb.size(), q);
    }
    context.ntt(prime).Forward(limb);
  }
}

ThinFuser::Factors ThinFuser::Blinding(double sigma) const {
  Factors blinding = spare_->Take();
  blinding.resize(imaginary_.size());
  for (size_t p = 0; p < imaginary_.size(); ++p) {
    blinding[p].resize(imaginary_[p].size());
    ParallelFor(imaginary_[p].size(), [&](size_t i) {
      Turn(sigma, fuser_->factors(p)[i], imaginary_[p][i], &blinding[p][i]);
    });
  }
  return blinding;
}

ThinFuser::Factors ThinFuser::Spare::Take() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (factors.empty()) return {};
  Factors taken = std::move(factors.back());
  factors.pop_back();
  return taken;
}

void ThinFuser::Spare::Give(Factors given) {
  const std::lock_guard<std::mutex> lock(mutex);
  factors.push_back(std::move(given));
}

absl::StatusOr<std::vector<ExtendedCiphertext>> ThinFuser::Products(
    std::span<const Ciphertext* const> modalities, const Factors& blinding) const {
  const ckks::Context& context = *matching_.context;
  std::vector<ExtendedCiphertext> sums;
  for (size_t p = 0; p < matching_.plan.projection.pairs.size(); ++p) {
    HEFT_ASSIGN_OR_RETURN(const Ciphertext packed, fuser_->Pack(p, modalities));
    if (packed.parts.empty()) continue;
    const std::span<const ckks::Plaintext> factors[] = {fuser_->factors(p), blinding[p]};
    HEFT_ASSIGN_OR_RETURN(std::vector<ExtendedCiphertext> parts,
                          fuser_->Products(p, packed, factors));
    if (sums.empty()) {
      sums = std::move(parts);
      continue;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      HEFT_RETURN_IF_ERROR(ckks::Add(context, &sums[i], parts[i]));
    }
  }
  if (sums.empty()) return absl::InvalidArgumentError("no modality given");
  return sums;
}

absl::StatusOr<ExtendedCiphertext> ThinFuser::Folded(std::span<const Ciphertext* const> modalities,
                                                     const Factors& blinding) const {
  const ckks::Context& context = *matching_.context;
  const auto& folds = matching_.plan.projection.folds;
  HEFT_ASSIGN_OR_RETURN(std::vector<ExtendedCiphertext> sums, Products(modalities, blinding));
  // The first fold adds the conjugate. For w, the projection before it, the conjugate of w (1 - i
  // sigma) is conj(w) (1 + i sigma): one key switch makes z real and keeps the factor (1 + i
  // sigma).
  ExtendedCiphertext& u = sums[0];
  ExtendedCiphertext minus = u;
  HEFT_RETURN_IF_ERROR(ckks::Subtract(context, &minus, sums[1]));
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &u, sums[1]));
  HEFT_RETURN_IF_ERROR(
      ckks::AddGalois(context, &u, minus, std::span(folds.front()).subspan(1), *keys_));
  for (size_t i = 1; i < folds.size(); ++i) {
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &u, u, folds[i], *keys_));
  }
  return std::move(u);
}

absl::StatusOr<ProvenProbe> ThinFuser::Fuse(std::span<const Ciphertext* const> modalities,
                                            std::optional<double> sigma) const {
  const ckks::Context& context = *matching_.context;
  const FusionPlan& plan = matching_.plan;
  if (!sigma) {
    Csprng rng;
    sigma = DrawNormFactor(rng);
  }
  Factors blinding = Blinding(*sigma);
  HEFT_ASSIGN_OR_RETURN(ExtendedCiphertext u, Folded(modalities, blinding));
  spare_->Give(std::move(blinding));
  ProvenProbe out;
  ExtendedCiphertext real = {ckks::SwitchSum(0, 0), 1, {}};
  HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &real, u, plan.projection.folds.front(), *keys_));
  HEFT_RETURN_IF_ERROR(ckks::DivideAndRescale(context, &out.z, real));
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &u, u));
  Ciphertext twice;
  HEFT_RETURN_IF_ERROR(ckks::DivideAndRescale(context, &twice, u));
  out.z.scale = plan.matching.probe_scale;  // except for the factors' rounding
  out.z.noise.message = std::sqrt(plan.normalisation.interval_hi);
  twice.scale = plan.matching.probe_scale;
  HEFT_ASSIGN_OR_RETURN(out.norm, ProveNorm(matching_, twice, *sigma, *keys_));
  return out;
}

}  // namespace heft
