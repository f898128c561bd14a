// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

using ckks::ConjugationElement;
using ckks::Params;
using ckks::RotationElement;

// Radices of the folds over 2^log_steps positions, largest last: each radix r costs r - 1 keys and
// switches but one decomposition and one division by the special prime.
std::vector<int> FoldRadices(int log_steps, int max_log_radix) {
  std::vector<int> radices;
  const int groups = (log_steps + max_log_radix - 1) / max_log_radix;
  for (int left = log_steps, g = groups; g > 0; --g) {
    const int log_radix = left / g;
    radices.push_back(1 << log_radix);
    left -= log_radix;
  }
  std::reverse(radices.begin(), radices.end());
  return radices;
}

// Element sets of folds with step, step * r_1, step * r_1 r_2, ...
std::vector<std::vector<uint32_t>> Folds(const Params& params, int64_t step, int log_steps,
                                         int max_log_radix) {
  std::vector<std::vector<uint32_t>> folds;
  if (log_steps == 0) return folds;
  for (int radix : FoldRadices(log_steps, max_log_radix)) {
    std::vector<uint32_t> elements;
    for (int i = 0; i < radix; ++i) elements.push_back(RotationElement(params, i * step));
    folds.push_back(std::move(elements));
    step *= radix;
  }
  return folds;
}

void NeedKeys(FusionPlan* plan, const std::vector<uint32_t>& elements, size_t limbs) {
  for (uint32_t element : elements) {
    if (element == 1) continue;
    size_t& have = plan->galois_keys[element];
    have = std::max(have, limbs);
  }
}

absl::Status PackModalities(FusionPlan* plan, const Params& params, const Model& model) {
  for (size_t i = 0; i < model.modalities.size(); i += 2) {
    PackedPair pair;
    pair.first = i;
    pair.second = i + 1 < model.modalities.size() ? static_cast<int>(i + 1) : -1;
    uint32_t largest = model.modalities[i].dimension;
    if (pair.second >= 0) largest = std::max(largest, model.modalities[i + 1].dimension);
    const uint32_t padded = std::bit_ceil(largest);
    if (padded > params.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", largest, " exceeds the ",
                                                     params.slots(), " slots of the profile"));
    }
    const uint64_t run = uint64_t{padded} * plan->gamma / params.slots();
    pair.run = static_cast<uint32_t>(std::max<uint64_t>(1, run));
    plan->pairs.push_back(pair);
  }
  return absl::OkStatus();
}

}  // namespace

double ScaleBeforeNormalisation(const Params& params, const FactoredPolynomial& f, size_t z_limbs,
                                double target) {
  const double q_s = params.modulus(z_limbs - 1).value();
  const double q_square = params.modulus(z_limbs - 2).value();
  const double q_apply = params.modulus(z_limbs - 3).value();
  const double leading = std::abs(f.leading);
  if (f.degree == 2) {
    // z^5 / (q_s^2 q_square q_apply leading)
    return std::pow(target * leading * q_s * q_s * q_square * q_apply, 1.0 / 5);
  }
  // z^7 / (q_s^3 q_square^2 q_apply leading)
  return std::pow(target * leading * std::pow(q_s, 3) * q_square * q_square * q_apply, 1.0 / 7);
}

absl::StatusOr<FusionPlan> PlanFusion(const Params& params, const ckks::Profile& profile,
                                      const Model& model) {
  HEFT_RETURN_IF_ERROR(model.Check());
  FusionPlan plan;
  plan.gamma = model.gamma;
  if (model.approximation.stages.size() != 1) {
    return absl::InvalidArgumentError(
        "the encrypted route takes one polynomial of degree 2 or 3; this model's approximation is "
        "a "
        "composite");
  }
  HEFT_ASSIGN_OR_RETURN(plan.polynomial, FactorForEvaluation(model.approximation.stages[0]));
  plan.interval_hi = model.approximation.interval.hi;
  constexpr size_t kLevelsUsed = 4;  // projection, s, square, apply
  plan.input_limbs = params.limbs();
  if (plan.input_limbs < kTemplateLimbs + kLevelsUsed) {
    return absl::InvalidArgumentError(absl::StrCat("the profile has ", plan.input_limbs,
                                                   " data primes, fusion needs ",
                                                   kTemplateLimbs + kLevelsUsed));
  }
  plan.z_limbs = plan.input_limbs - 1;
  HEFT_RETURN_IF_ERROR(PackModalities(&plan, params, model));

  plan.input_scale = profile.scale;
  plan.template_scale = profile.scale;
  plan.z_scale =
      ScaleBeforeNormalisation(params, plan.polynomial, plan.z_limbs, plan.template_scale);
  plan.factor_scale =
      plan.z_scale * params.modulus(plan.input_limbs - 1).value() / plan.input_scale;
  plan.score_scale = plan.template_scale * plan.template_scale / params.modulus(1).value();

  const int log_gamma = std::countr_zero(plan.gamma);
  const int log_groups = std::countr_zero(params.slots()) - log_gamma;
  plan.projection_folds = Folds(params, plan.gamma, log_groups, 3);
  // z + conj(z) closes the projection.
  plan.projection_folds.push_back({1, ConjugationElement(params)});
  plan.norm_folds = Folds(params, 1, log_gamma, 2);
  for (uint32_t k = 0; k < plan.gamma; ++k) {
    plan.gallery_rotations.push_back(RotationElement(params, k));
  }

  for (const PackedPair& pair : plan.pairs) {
    std::vector<uint32_t> elements;
    for (uint32_t i = 0; i < pair.run; ++i) elements.push_back(RotationElement(params, i));
    NeedKeys(&plan, elements, plan.input_limbs);
    plan.plain_products += pair.run;
    plan.key_switches += pair.run - 1;
  }
  for (const auto& fold : plan.projection_folds) {
    NeedKeys(&plan, fold, plan.input_limbs);
    plan.key_switches += fold.size() - 1;
  }
  for (const auto& fold : plan.norm_folds) {
    NeedKeys(&plan, fold, plan.z_limbs);
    plan.key_switches += fold.size() - 1;
  }
  NeedKeys(&plan, plan.gallery_rotations, kTemplateLimbs);
  plan.relinearisation_limbs = plan.z_limbs;
  plan.ciphertext_products = plan.polynomial.degree == 2 ? 3 : 4;
  plan.key_switches += plan.ciphertext_products;
  return plan;
}

absl::StatusOr<Instance> MakeInstance(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const ckks::Profile profile, ckks::FindProfile(model.profile));
  HEFT_ASSIGN_OR_RETURN(const Params params, Params::Create(profile.spec));
  Instance instance;
  HEFT_ASSIGN_OR_RETURN(instance.plan, PlanFusion(params, profile, model));
  instance.context = std::make_shared<ckks::Context>(params);
  instance.encoder = std::make_shared<ckks::Encoder>(instance.context);
  return instance;
}

}  // namespace heft
