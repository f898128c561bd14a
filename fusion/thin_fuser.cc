// SPDX-License-Identifier: Apache-2.0
#include "fusion/thin_fuser.h"

#include <cmath>
#include <utility>

#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/compact.h"
#include "fusion/mean.h"
#include "fusion/norm_proof.h"

namespace heft {

using ckks::Ciphertext;

namespace {

// What is half of z gives z with its conjugate, so the products are of z / 2.
constexpr double kHalf = 0.5;

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
  HEFT_ASSIGN_OR_RETURN(secret->factors, Encode(kHalf * sigma / std::sqrt(2.0)));
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

absl::StatusOr<std::vector<Ciphertext>> ThinFuser::Products(
    std::span<const Ciphertext* const> modalities, const Secret& secret) const {
  const ckks::Context& context = *matching_.context;
  std::vector<Ciphertext> sums;
  for (size_t p = 0; p < matching_.plan.projection.pairs.size(); ++p) {
    HEFT_ASSIGN_OR_RETURN(const Ciphertext packed, fuser_->Pack(p, modalities));
    if (packed.parts.empty()) continue;
    std::vector<Ciphertext> parts(2);
    const std::span<const ckks::Plaintext> factors[] = {fuser_->factors(p), secret.factors[p]};
    HEFT_RETURN_IF_ERROR(ckks::SumGaloisProducts(context, parts, packed, fuser_->factor_elements(p),
                                                 factors, *keys_));
    if (sums.empty()) {
      sums = std::move(parts);
      continue;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      HEFT_RETURN_IF_ERROR(ckks::Add(context, &sums[i], sums[i], parts[i]));
    }
  }
  if (sums.empty()) return absl::InvalidArgumentError("no modality given");
  return sums;
}

absl::StatusOr<ProvenProbe> ThinFuser::Fuse(std::span<const Ciphertext* const> modalities,
                                            std::optional<double> sigma) const {
  const ckks::Context& context = *matching_.context;
  const FusionPlan& plan = matching_.plan;
  HEFT_ASSIGN_OR_RETURN(const auto secret, CurrentSecret(sigma));
  HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> sums, Products(modalities, *secret));
  // The first fold adds the conjugates: both are real from here on, and fold as one.
  for (Ciphertext& sum : sums) {
    HEFT_RETURN_IF_ERROR(
        ckks::SumGalois(context, &sum, sum, plan.projection.folds.front(), *keys_));
  }
  ckks::MultiplyByRootOfMinusTwo(context, &sums[1], sums[1]);
  Ciphertext u;
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &u, sums[0], sums[1]));
  for (size_t i = 1; i < plan.projection.folds.size(); ++i) {
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &u, u, plan.projection.folds[i], *keys_));
  }
  ProvenProbe out;
  HEFT_RETURN_IF_ERROR(
      ckks::SumGaloisAndRescale(context, &out.z, u, plan.projection.folds.front(), *keys_));
  HEFT_RETURN_IF_ERROR(ckks::Add(context, &u, u, u));
  HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &u, u));
  out.z.scale = plan.matching.probe_scale;  // but for the factors' rounding
  out.z.noise.message = std::sqrt(plan.normalisation.interval_hi);
  u.scale = plan.matching.probe_scale;
  HEFT_ASSIGN_OR_RETURN(out.norm, ProveNorm(matching_, u, secret->sigma, *keys_));
  return out;
}

}  // namespace heft
