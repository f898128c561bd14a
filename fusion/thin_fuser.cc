// SPDX-License-Identifier: Apache-2.0
#include "fusion/thin_fuser.h"

#include <cmath>
#include <utility>

#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/noise.h"
#include "fusion/compact.h"
#include "fusion/mean.h"
#include "fusion/norm_proof.h"
#include "ring/kernels.h"

namespace heft {

using ckks::Ciphertext;
using ckks::ExtendedCiphertext;

namespace {

// What is half of z gives z with its conjugate, so the products are of z / 2.
constexpr double kHalf = 0.5;

// SumOf: a + b, or a - b, of two extended plaintexts of one scale.
ckks::Plaintext SumOf(const ckks::Context& context, const ckks::Plaintext& a,
                      const ckks::Plaintext& b, bool subtract) {
  ckks::Plaintext out = a;
  for (size_t l = 0; l < out.poly.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(ckks::ExtendedPrime(context, l, out.limbs()));
    const ring::Kernels& kernels = ring::ActiveKernels();
    uint32_t* v = out.poly.limb(l).data();
    (subtract ? kernels.subtract : kernels.add)(v, v, b.poly.limb(l).data(), context.n(), q);
  }
  out.noise = ckks::AddNoise(a.noise, b.noise);
  return out;
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
  out.state_ = std::make_unique<State>();
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

absl::StatusOr<std::shared_ptr<const ThinFuser::Secret>> ThinFuser::SecretOf(double sigma) const {
  auto secret = std::make_shared<Secret>();
  secret->sigma = sigma;
  HEFT_ASSIGN_OR_RETURN(Factors imaginary, Encode(kHalf * sigma / std::sqrt(2.0)));
  for (size_t p = 0; p < imaginary.size(); ++p) {
    std::vector<ckks::Plaintext>& plus = secret->plus.emplace_back();
    std::vector<ckks::Plaintext>& minus = secret->minus.emplace_back();
    for (size_t i = 0; i < imaginary[p].size(); ++i) {
      ckks::Plaintext& turned = imaginary[p][i];
      ckks::MultiplyByRootOfMinusTwo(*matching_.context, &turned);
      plus.push_back(SumOf(*matching_.context, fuser_->factors(p)[i], turned, /*subtract=*/false));
      minus.push_back(SumOf(*matching_.context, fuser_->factors(p)[i], turned, /*subtract=*/true));
    }
  }
  return secret;
}

absl::StatusOr<std::shared_ptr<const ThinFuser::Secret>> ThinFuser::CurrentSecret(
    std::optional<double> sigma) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (sigma) {
    if (state_->given == nullptr || state_->given->sigma != *sigma) {
      HEFT_ASSIGN_OR_RETURN(state_->given, SecretOf(*sigma));
    }
    return state_->given;
  }
  if (state_->secret == nullptr || state_->uses == kUsesOfAFactor) {
    Csprng rng;
    HEFT_ASSIGN_OR_RETURN(state_->secret, SecretOf(DrawNormFactor(rng)));
    state_->uses = 0;
  }
  ++state_->uses;
  return state_->secret;
}

absl::StatusOr<std::vector<ExtendedCiphertext>> ThinFuser::Products(
    std::span<const Ciphertext* const> modalities, const Secret& secret) const {
  const ckks::Context& context = *matching_.context;
  std::vector<ExtendedCiphertext> sums;
  for (size_t p = 0; p < matching_.plan.projection.pairs.size(); ++p) {
    HEFT_ASSIGN_OR_RETURN(const Ciphertext packed, fuser_->Pack(p, modalities));
    if (packed.parts.empty()) continue;
    const std::span<const ckks::Plaintext> factors[] = {secret.plus[p], secret.minus[p]};
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
                                                     const Secret& secret) const {
  const ckks::Context& context = *matching_.context;
  const auto& folds = matching_.plan.projection.folds;
  HEFT_ASSIGN_OR_RETURN(std::vector<ExtendedCiphertext> sums, Products(modalities, secret));
  // The first fold adds the conjugate. Of w, the projection before it, that of w (1 - i sigma) is
  // conj(w) (1 + i sigma): one key switch makes z real, and (1 + i sigma) stays with it.
  ExtendedCiphertext& u = sums[0];
  HEFT_RETURN_IF_ERROR(
      ckks::AddGalois(context, &u, sums[1], std::span(folds.front()).subspan(1), *keys_));
  for (size_t i = 1; i < folds.size(); ++i) {
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &u, u, folds[i], *keys_));
  }
  return std::move(u);
}

absl::StatusOr<ProvenProbe> ThinFuser::Fuse(std::span<const Ciphertext* const> modalities,
                                            std::optional<double> sigma) const {
  const ckks::Context& context = *matching_.context;
  const FusionPlan& plan = matching_.plan;
  HEFT_ASSIGN_OR_RETURN(const auto secret, CurrentSecret(sigma));
  HEFT_ASSIGN_OR_RETURN(ExtendedCiphertext u, Folded(modalities, *secret));
  ProvenProbe out;
  ExtendedCiphertext real = {ckks::SwitchSum(0, 0), 1, {}};
  HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &real, u, plan.projection.folds.front(), *keys_));
  HEFT_RETURN_IF_ERROR(ckks::DivideAndRescale(context, &out.z, real));
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &u, u));
  Ciphertext twice;
  HEFT_RETURN_IF_ERROR(ckks::DivideAndRescale(context, &twice, u));
  out.z.scale = plan.matching.probe_scale;  // but for the factors' rounding
  out.z.noise.message = std::sqrt(plan.normalisation.interval_hi);
  twice.scale = plan.matching.probe_scale;
  HEFT_ASSIGN_OR_RETURN(out.norm, ProveNorm(matching_, twice, secret->sigma, *keys_));
  return out;
}

}  // namespace heft
