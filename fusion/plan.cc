// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ckks/subchain.h"
#include "fusion/errors.h"
#include "fusion/norm_proof.h"

namespace heft {
namespace {

using ckks::ConjugationElement;
using ckks::Params;
using ckks::RotationElement;

// Sums over a group of automorphisms, given by generators of order two, with two generators in each
// fold. Each fold is one hoisted sum of four images. Measured, this is the best balance between
// more keys to read (3 instead of 2) and fewer transforms (one decomposition and division instead
// of two). A single generator comes first.
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
    plan->projection.pairs.push_back(pair);
  }
  return absl::OkStatus();
}

void AddGalleryRotations(const Params& params, FusionPlan* plan) {
  FusionPlan::Matching& matching = plan->matching;
  matching.grid = MatchingGrid(params, plan->ProbeRotations());
  matching.grid.AddNeeds(params, matching.template_limbs, &plan->keys);
  // A match rotates sums of products forward; a bulk enrolment rotates ciphertexts back.
  const int64_t giant = plan->ProbeRotations();
  for (int64_t steps = giant; steps < plan->gamma; steps += giant) {
    plan->keys.Rotation(params, steps, MatchLimbs(params));
    plan->keys.Rotation(params, -steps, matching.template_limbs);
  }
}

// BlockGiants: of a block in the small ring of two. There a rotation of a probe costs 45 us, and
// each further giant of a block 60 us (Zen 4). With this number searches are faster up to 100,000
// templates, and take 1.12 and 1.03 of the time at a million of 128 and 256 dimensions
// (docs/design.md, "Giant steps in the gallery").
uint32_t BlockGiants(uint32_t gamma) {
  constexpr uint32_t kRotations = 64;
  return std::max(gamma / kRotations, 1u);
}

// kReplyForm: the most accurate form of 4.9 bytes for each score, measured (docs/design.md, "Short
// replies").
constexpr ckks::ShortForm kReplyForm = {.bits = 23, .dropped = 7, .raised = 3};

// kBlockRoom: with signs no coefficient of a score is large. So templates in blocks may have a
// scale that is larger by this factor, which reduces the rounding of added templates.
constexpr double kBlockRoom = 4;

// ReachZ: the factors' scale that gives z the scale `z_scale`.
void ReachZ(const Params& params, double z_scale, FusionPlan::Projection* projection) {
  projection->z_scale = z_scale;
  projection->factor_scale =
      z_scale * params.LevelModulus(projection->input_limbs) / projection->input_scale;
}

// AddNormNeeds: the folds of |z|^2, one level below z, and the first relinearisation.
void AddNormNeeds(const Params& params, FusionPlan* plan) {
  const size_t z_limbs = plan->projection.z_limbs;
  plan->normalisation.folds = Folds(params, Doublings(params, 1, plan->gamma));
  for (const auto& fold : plan->normalisation.folds) {
    plan->keys.Galois(fold, z_limbs - params.level_primes());
    plan->key_switches += fold.size() - 1;
  }
  plan->keys.Relinearisation(z_limbs);
}

void AddProducts(size_t count, FusionPlan* plan) {
  plan->ciphertext_products = count;
  plan->key_switches += count;
}

// MatchTemplates: probes are templates, and all scales are those of templates.
FusionPlan::Matching MatchTemplates(const Params& params, double scale, size_t template_limbs) {
  FusionPlan::Matching matching;
  matching.template_limbs = matching.probe_limbs = template_limbs;
  matching.template_scale = matching.probe_scale = matching.block_scale = scale;
  matching.fused_scale = scale;
  matching.score_scale = scale * scale / params.LevelModulus(MatchLimbs(params));
  matching.masked_scale = matching.probe_scale;
  matching.verified_scale = matching.score_scale;
  matching.mask_modulus = params.LevelModulus(TemplateLimbs(params));
  return matching;
}

// FusedScale: of a template that a client has fused. The sum over the groups of slots multiplies
// its scale. At a small scale, the errors of the first folds' switches would exceed all later ones.
// So if levels have room above a template's scale, it ends above that scale, by the root of that
// factor. With levels of one prime there is less room, because the scale that is left for the masks
// of templates decreases as much. There it ends so far above that many groups err no more than 64
// do (NormProofDimensionsTest).
double FusedScale(const Params& params, uint32_t gamma, double template_scale) {
  const double log_copies = std::log2(2.0 * params.slots() / gamma);
  constexpr double kWithoutRaise = 5;
  const double raised = params.level_primes() == 1
                            ? std::ceil(std::max(0.0, log_copies - kWithoutRaise) / 2)
                            : std::floor(log_copies / 2);
  return template_scale * std::exp2(raised);
}

// MatchThinProbes: if a score has one limb, replies are short, and templates in blocks have a
// larger scale.
FusionPlan::Matching MatchThinProbes(const Params& params, const Profile& profile, uint32_t gamma) {
  FusionPlan::Matching matching;
  matching.short_replies = ScoreLimbs(params) == 1;
  const double room = matching.short_replies ? kBlockRoom : 1;
  matching.template_limbs = TemplateLimbs(params);
  matching.template_scale = profile.scale;
  matching.fused_scale = FusedScale(params, gamma, profile.scale);
  matching.probe_limbs = MatchLimbs(params);
  matching.probe_scale = profile.match_scale;
  matching.block_scale = room * profile.match_scale;
  matching.score_scale =
      matching.probe_scale * matching.block_scale / params.LevelModulus(MatchLimbs(params));
  matching.masked_scale = matching.probe_scale / room;
  matching.verified_scale = matching.score_scale / room;
  matching.mask_modulus = params.LevelModulus(TemplateLimbs(params));
  if (matching.short_replies) matching.reply_form = kReplyForm;
  return matching;
}

// PredictTemplate: the errors of z and of a normalised template, which is also a probe.
void PredictTemplate(const Params& params, const Model& model, FusionPlan* plan) {
  const double z_error = ProjectedError(params, *plan, model);
  const double s_error = SquaredNormError(params, *plan, z_error);
  plan->projection.z_error = z_error;
  FusionPlan::Matching& matching = plan->matching;
  matching.template_error = NormalisedError(params, *plan, z_error, s_error);
  matching.probe_error = matching.claim_error = matching.template_error;
}

}  // namespace

absl::Status PlanCompactProjection(const Params& params, const Model& model, FusionPlan* plan,
                                   bool real_first, size_t absent) {
  HEFT_RETURN_IF_ERROR(PackModalities(plan, params, model));
  std::vector<uint32_t> generators = Doublings(params, plan->gamma, params.slots());
  if (real_first) {
    plan->projection.folds = Folds(params, generators);
    plan->projection.folds.insert(plan->projection.folds.begin(), {1, ConjugationElement(params)});
  } else {
    // z + conj(z) ends the projection: the last generator.
    generators.push_back(ConjugationElement(params));
    plan->projection.folds = Folds(params, generators);
  }
  // Each following fold doubles a fold's error, so folds are before the rescale, where the error is
  // relative to the larger scale. (Scores' rms error at 512 + 512: 2e-4 this way, 3e-4 with the
  // last two folds after the rescale and 4.3e-4 with the last three, for 0.2 ms each; it varies
  // with the key, and the promise is 2e-3 for the worst score.)
  plan->projection.folds_before_rescale = plan->projection.folds.size();
  const size_t limbs = plan->projection.input_limbs, sums = real_first ? 2 : 1;
  for (const auto& fold : plan->projection.folds) {
    plan->keys.Galois(fold, limbs);
    plan->key_switches += fold.size() - 1;
  }
  for (PackedPair& pair : plan->projection.pairs) {
    pair.grid = ProductGrid(params, pair.run, sums, limbs, plan->keys, absent);
    pair.grid.AddNeeds(params, limbs, &plan->keys);
    plan->plain_products += sums * pair.run;
    plan->key_switches += pair.grid.babies - 1 + sums * (pair.grid.giants - 1);
  }
  return absl::OkStatus();
}

double ScaleBeforeNormalisation(const Params& params, const FactoredPolynomial& f, size_t z_limbs,
                                double target) {
  const size_t level = params.level_primes();
  const double q_s = params.LevelModulus(z_limbs);
  const double q_square = params.LevelModulus(z_limbs - level);
  const double q_apply = params.LevelModulus(z_limbs - 2 * level);
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
  if (model.gamma > profile.max_gamma) {
    return absl::InvalidArgumentError(absl::StrCat(
        "profile ", profile.name, " takes at most ", profile.max_gamma, " fused dimensions, and ",
        "the model has ", model.gamma, ": use fewer (--gamma), or profile standard"));
  }
  FusionPlan plan;
  plan.gamma = model.gamma;
  if (model.approximation.stages.size() != 1) {
    return absl::InvalidArgumentError(
        "the encrypted route takes one polynomial of degree 2 or 3; this model's approximation is "
        "a "
        "composite");
  }
  HEFT_ASSIGN_OR_RETURN(plan.normalisation.polynomial,
                        FactorForEvaluation(model.approximation.stages[0]));
  plan.normalisation.interval_lo = model.approximation.interval.lo;
  plan.normalisation.interval_hi = model.approximation.interval.hi;
  constexpr size_t kLevelsUsed = 4;  // projection, s, square, apply
  const size_t needed = template_limbs + kLevelsUsed * params.level_primes();
  if (params.limbs() < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("the profile has ", params.limbs(), " data primes, fusion needs ", needed));
  }
  plan.projection.input_limbs = params.limbs();
  plan.projection.z_limbs = params.limbs() - params.level_primes();
  plan.projection.input_scale = profile.scale;
  plan.matching = MatchTemplates(params, profile.scale, template_limbs);
  // The projection comes last: it reuses keys of the others where possible. With two rings, the
  // other one has the gallery.
  if (!profile.thin()) AddGalleryRotations(params, &plan);
  AddNormNeeds(params, &plan);
  HEFT_RETURN_IF_ERROR(PlanCompactProjection(params, model, &plan, /*real_first=*/false,
                                             TemplateLimbs(params) - template_limbs));
  ReachZ(params,
         ScaleBeforeNormalisation(params, plan.normalisation.polynomial, plan.projection.z_limbs,
                                  profile.scale),
         &plan.projection);
  AddProducts(plan.normalisation.polynomial.degree == 2 ? 3 : 4, &plan);
  PredictTemplate(params, model, &plan);
  return plan;
}

double ThinNormRoom(const Params& params, double probe_scale) {
  const double scale = probe_scale * probe_scale / params.LevelModulus(MatchLimbs(params));
  return 0.9 * params.LevelModulus(ScoreLimbs(params)) / 2 / scale;
}

absl::StatusOr<double> LargestNorm(const Profile& profile) {
  if (!profile.thin()) return std::numeric_limits<double>::infinity();
  HEFT_ASSIGN_OR_RETURN(const Params enrolment, Params::Create(profile.spec));
  HEFT_ASSIGN_OR_RETURN(const Params matching, MatchingParams(enrolment));
  return ThinNormRoom(matching, profile.match_scale);
}

double SlotSign(const FusionPlan& plan, uint32_t slot, uint32_t lane) {
  if (!plan.matching.short_replies) return 1;
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
  plan.projection.input_limbs = params.limbs();
  plan.projection.z_limbs = params.limbs() - params.level_primes();
  plan.projection.input_scale = profile.scale;
  plan.matching = MatchThinProbes(params, profile, model.gamma);
  plan.matching.giants = BlockGiants(model.gamma);
  AddGalleryRotations(params, &plan);
  AddNormNeeds(params, &plan);
  if (ProvesCarefully(plan)) {
    // Then folds are before the rescale.
    for (const auto& fold : plan.normalisation.folds) plan.keys.Galois(fold, MatchLimbs(params));
  }
  HEFT_RETURN_IF_ERROR(PlanCompactProjection(params, model, &plan, /*real_first=*/true));
  ReachZ(params, profile.match_scale, &plan.projection);
  plan.normalisation.polynomial.degree = 0;
  plan.normalisation.interval_lo = model.approximation.interval.lo;
  plan.normalisation.interval_hi = model.approximation.interval.hi;
  const double room = ThinNormRoom(params, profile.match_scale);
  if (plan.normalisation.interval_hi > room) {
    return absl::InvalidArgumentError(absl::StrCat(
        "squared norms up to ", plan.normalisation.interval_hi, " do not fit the profile's ", room,
        ": train the model again for profile ", profile.name));
  }
  AddProducts(1, &plan);
  plan.projection.z_error = plan.matching.probe_error = ProjectedError(params, plan, model);
  plan.matching.probe_length = std::sqrt(plan.normalisation.interval_hi);
  return plan;
}

namespace {
absl::StatusOr<Instance> MakeInstance(const Model& model, bool probe) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(model.profile));
  HEFT_ASSIGN_OR_RETURN(Params params, Params::Create(profile.spec));
  const double mask_modulus = params.LevelModulus(TemplateLimbs(params));
  if (probe) {
    HEFT_ASSIGN_OR_RETURN(params, ckks::WithoutPrime(params, kMaskPrime));
  }
  Instance instance;
  HEFT_ASSIGN_OR_RETURN(
      instance.plan,
      PlanFusion(params, profile, model, probe ? MatchLimbs(params) : TemplateLimbs(params)));
  instance.plan.matching.mask_modulus = mask_modulus;
  instance.context = std::make_shared<ckks::Context>(params);
  instance.encoder = std::make_shared<ckks::Encoder>(instance.context);
  return instance;
}
}  // namespace

absl::StatusOr<Instance> MakeInstance(const Model& model) { return MakeInstance(model, false); }

absl::StatusOr<Instance> MakeProbeInstance(const Model& model) { return MakeInstance(model, true); }

}  // namespace heft
