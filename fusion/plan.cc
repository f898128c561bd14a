// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/subchain.h"

namespace heft {
namespace {

using ckks::ConjugationElement;
using ckks::Params;
using ckks::RotationElement;

// Sums over a group of automorphisms, given by generators of order two, two generators a fold: each
// fold is one hoisted sum of four images, which measured best between the keys that it reads (3
// instead of 2) and the transforms that it saves (one decomposition and division instead of two). A
// single generator comes first.
std::vector<std::vector<uint32_t>> Folds(const Params& params,
                                         const std::vector<uint32_t>& generators) {
  const uint32_t mask = 2 * params.n() - 1;
  std::vector<std::vector<uint32_t>> folds;
  size_t at = 0;
  if (generators.size() % 2 == 1) folds.push_back({1, generators[at++]});
  for (; at < generators.size(); at += 2) {
    const uint32_t a = generators[at];
    const uint32_t b = generators[at + 1];
    folds.push_back({1, a, b, a * b & mask});
  }
  return folds;
}

// Rotations by first, 2 first, ... below `end`, the largest first.
std::vector<uint32_t> Doublings(const Params& params, uint32_t first, uint32_t end) {
  std::vector<uint32_t> elements;
  for (uint32_t steps = first; steps < end; steps *= 2) {
    elements.insert(elements.begin(), RotationElement(params, steps));
  }
  return elements;
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

void AddGalleryRotations(const Params& params, FusionPlan* plan) {
  for (uint32_t k = 0; k < plan->gamma; ++k) {
    plan->gallery_rotations.push_back(RotationElement(params, k));
  }
  plan->keys.Galois(plan->gallery_rotations, plan->template_limbs);
}

// kReplyForm: what measured best of 4.9 bytes a score (docs/design.md, "Short replies").
constexpr ckks::ShortForm kReplyForm = {.bits = 23, .dropped = 7, .raised = 3};

// kBlockRoom: with signs no coefficient of a score is large, so templates may stand in blocks at a
// scale that many times larger, where what is added to them rounds less.
constexpr double kBlockRoom = 4;

// AddNeeds: the keys that the stages after the projection need, and what they cost.
void AddNeeds(FusionPlan* plan) {
  for (const auto& fold : plan->norm_folds) {
    plan->keys.Galois(fold, plan->z_limbs - 1);
    plan->key_switches += fold.size() - 1;
  }
  plan->keys.Relinearisation(plan->z_limbs);
  plan->ciphertext_products = plan->polynomial.degree == 2 ? 3 : 4;
  plan->key_switches += plan->ciphertext_products;
}

}  // namespace

absl::Status PlanCompactProjection(const Params& params, const Model& model, FusionPlan* plan) {
  HEFT_RETURN_IF_ERROR(PackModalities(plan, params, model));
  // z + conj(z) closes the projection, as the last generator.
  std::vector<uint32_t> generators = Doublings(params, plan->gamma, params.slots());
  generators.push_back(ConjugationElement(params));
  plan->projection_folds = Folds(params, generators);
  // A fold's error grows with the folds that follow it, by a factor of two each, so they run before
  // the rescale, where the error is relative to the larger scale. (Scores' rms error at 512 + 512:
  // 2e-4 so, 3e-4 with the last two folds after the rescale and 4.3e-4 with the last three, for 0.2
  // ms each; it varies with the key, and the promise is 2e-3 for the worst score.)
  plan->folds_before_rescale = plan->projection_folds.size();
  for (const PackedPair& pair : plan->pairs) {
    std::vector<uint32_t> elements;
    for (uint32_t i = 0; i < pair.run; ++i) elements.push_back(RotationElement(params, i));
    plan->keys.Galois(elements, plan->input_limbs);
    plan->plain_products += pair.run;
    plan->key_switches += pair.run - 1;
  }
  for (const auto& fold : plan->projection_folds) {
    plan->keys.Galois(fold, plan->input_limbs);
    plan->key_switches += fold.size() - 1;
  }
  return absl::OkStatus();
}

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

absl::StatusOr<FusionPlan> PlanFusion(const Params& params, const Profile& profile,
                                      const Model& model, size_t template_limbs) {
  HEFT_RETURN_IF_ERROR(model.Check());
  FusionPlan plan;
  plan.template_limbs = template_limbs;
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
  if (plan.input_limbs < template_limbs + kLevelsUsed) {
    return absl::InvalidArgumentError(absl::StrCat("the profile has ", plan.input_limbs,
                                                   " data primes, fusion needs ",
                                                   template_limbs + kLevelsUsed));
  }
  plan.z_limbs = plan.input_limbs - 1;
  HEFT_RETURN_IF_ERROR(PlanCompactProjection(params, model, &plan));

  plan.input_scale = profile.scale;
  plan.template_scale = profile.scale;
  plan.probe_scale = plan.block_scale = plan.template_scale;
  plan.probe_limbs = template_limbs;
  plan.z_scale =
      ScaleBeforeNormalisation(params, plan.polynomial, plan.z_limbs, plan.template_scale);
  plan.factor_scale =
      plan.z_scale * params.modulus(plan.input_limbs - 1).value() / plan.input_scale;
  plan.score_scale = plan.template_scale * plan.template_scale / params.modulus(1).value();
  plan.masked_scale = plan.probe_scale;
  plan.verified_scale = plan.score_scale;
  plan.mask_prime = params.modulus(kMaskPrime).value();

  plan.norm_folds = Folds(params, Doublings(params, 1, plan.gamma));
  // Of two rings, the other one has the gallery.
  if (!profile.thin()) AddGalleryRotations(params, &plan);
  AddNeeds(&plan);
  return plan;
}

double ThinNormScale(const ckks::Params& params, const FusionPlan& plan) {
  return plan.z_scale * plan.z_scale / params.modulus(1).value();
}

double ThinNormRoom(const ckks::Params& params, const FusionPlan& plan) {
  return 0.9 * params.modulus(0).value() / 2 / ThinNormScale(params, plan);
}

double SlotSign(const FusionPlan& plan, uint32_t slot, uint32_t lane) {
  if (!plan.short_replies) return 1;
  // SplitMix64's output number 2 slot + lane from state 0 (docs/formats.md, "Signs").
  uint64_t x = (2 * uint64_t{slot} + lane + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x >> 63 == 0 ? 1 : -1;
}

absl::StatusOr<FusionPlan> PlanMatching(const Params& params, const Profile& profile,
                                        const Model& model) {
  FusionPlan plan;
  plan.gamma = model.gamma;
  plan.template_limbs = kTemplateLimbs;
  plan.input_limbs = params.limbs();
  plan.z_limbs = plan.probe_limbs = plan.input_limbs - 1;
  HEFT_RETURN_IF_ERROR(PlanCompactProjection(params, model, &plan));
  plan.input_scale = plan.template_scale = profile.scale;
  plan.z_scale = plan.probe_scale = profile.match_scale;
  plan.block_scale = kBlockRoom * profile.match_scale;
  plan.mask_prime = params.modulus(kMaskPrime).value();
  plan.factor_scale =
      plan.z_scale * params.modulus(plan.input_limbs - 1).value() / plan.input_scale;
  plan.score_scale = plan.probe_scale * plan.block_scale / params.modulus(1).value();
  plan.polynomial.degree = 0;  // nothing is normalised here
  plan.masked_scale = plan.probe_scale / kBlockRoom;
  plan.verified_scale = plan.score_scale / kBlockRoom;
  plan.short_replies = true;
  plan.reply_form = kReplyForm;
  plan.interval_hi = model.approximation.interval.hi;
  const double room = ThinNormRoom(params, plan);
  if (plan.interval_hi > room) {
    return absl::InvalidArgumentError(
        absl::StrCat("squared norms up to ", plan.interval_hi, " do not fit the profile's ", room,
                     ": train with smaller ones, or use profile compact"));
  }
  plan.norm_folds = Folds(params, Doublings(params, 1, plan.gamma));
  AddGalleryRotations(params, &plan);
  for (const auto& fold : plan.norm_folds) {
    plan.keys.Galois(fold, kScoreLimbs);
    plan.key_switches += fold.size() - 1;
  }
  plan.keys.Relinearisation(kMatchLimbs);
  plan.ciphertext_products = 1;
  plan.key_switches += plan.ciphertext_products;
  return plan;
}

namespace {
absl::StatusOr<Instance> MakeInstance(const Model& model, bool probe) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(model.profile));
  HEFT_ASSIGN_OR_RETURN(Params params, Params::Create(profile.spec));
  const double mask_prime = params.modulus(kMaskPrime).value();
  if (probe) {
    HEFT_ASSIGN_OR_RETURN(params, ckks::WithoutPrime(params, kMaskPrime));
  }
  Instance instance;
  HEFT_ASSIGN_OR_RETURN(instance.plan,
                        PlanFusion(params, profile, model, probe ? kMatchLimbs : kTemplateLimbs));
  instance.plan.mask_prime = mask_prime;
  instance.context = std::make_shared<ckks::Context>(params);
  instance.encoder = std::make_shared<ckks::Encoder>(instance.context);
  return instance;
}
}  // namespace

absl::StatusOr<Instance> MakeInstance(const Model& model) { return MakeInstance(model, false); }

absl::StatusOr<Instance> MakeProbeInstance(const Model& model) { return MakeInstance(model, true); }

}  // namespace heft
