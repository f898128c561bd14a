// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/route.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace heft::paper {
namespace {

// PlanBlocks: the compact plan from the end of the normalisation on, for diagonal blocks.
void PlanBlocks(const ckks::Params& params, PaperRoutePlan* plan) {
  FusionPlan& compact = *plan->projection.compact;
  compact.matching.template_scale = compact.matching.fused_scale = plan->template_scale;
  compact.matching.probe_scale = compact.matching.block_scale = plan->template_scale;
  const size_t limbs = TemplateLimbs(params);
  compact.matching.template_limbs = compact.matching.probe_limbs = limbs;
  compact.matching.score_scale =
      plan->template_scale * plan->template_scale / params.LevelModulus(MatchLimbs(params));
  compact.matching.masked_scale = compact.matching.probe_scale;
  compact.matching.verified_scale = compact.matching.score_scale;
  compact.matching.mask_modulus = params.LevelModulus(limbs);
  compact.matching.grid = MatchingGrid(params, compact.gamma);
  compact.matching.grid.AddNeeds(params, limbs, &plan->keys);
  plan->keys.Relinearisation(limbs);
}

}  // namespace

absl::StatusOr<PaperRoutePlan> PlanPaperRoute(const ckks::Params& params, double scale,
                                              const Model& model, const PaperRouteSpec& spec) {
  const bool simd = spec.projection == ProjectionMethod::kSimd;
  const size_t template_limbs = simd ? MatchLimbs(params) : TemplateLimbs(params);
  // Deferred normalisation still squares z.
  const size_t z_limbs =
      std::max<size_t>(template_limbs + spec.normalisation.Levels(), MatchLimbs(params));
  const size_t input_limbs = z_limbs + (spec.projection == ProjectionMethod::kNaive ? 2 : 1);
  if (input_limbs > params.limbs()) {
    return absl::InvalidArgumentError(absl::StrCat("this route takes ", input_limbs,
                                                   " data primes, the parameters have ",
                                                   params.limbs(), ": use deeper parameters"));
  }
  PaperRoutePlan plan;
  // Scores, at scale^2 / q_1, are to stay below an eighth of the base prime.
  const double q_0 = params.modulus(0).value(), q_1 = params.modulus(1).value();
  plan.template_scale = std::min(scale, std::sqrt(q_0 * q_1 / 8));
  HEFT_ASSIGN_OR_RETURN(plan.normalisation,
                        PlanNormalisation(params, spec.normalisation, model.gamma, z_limbs,
                                          plan.template_scale, /*folds=*/!simd));
  Model bounded = model;
  bounded.approximation.interval = spec.normalisation.Range();
  HEFT_ASSIGN_OR_RETURN(plan.projection,
                        PlanProjection(params, spec.projection, bounded, input_limbs, scale,
                                       plan.normalisation.input_scale));
  plan.keys = plan.projection.keys;
  plan.keys.Merge(plan.normalisation.keys);
  if (IsDense(spec.projection)) {
    HEFT_ASSIGN_OR_RETURN(plan.packing, PlanPackedGallery(params, plan.projection, template_limbs,
                                                          plan.template_scale));
    plan.keys.Merge(plan.packing->keys);
  } else if (simd) {
    plan.keys.Relinearisation(template_limbs);
  } else {
    PlanBlocks(params, &plan);
  }
  return plan;
}

absl::StatusOr<PaperRoute> PaperRoute::Create(std::shared_ptr<const ckks::Context> context,
                                              const ckks::Encoder& encoder,
                                              const PaperRoutePlan& plan, const Model& model,
                                              const ckks::EvaluationKeys* keys) {
  HEFT_RETURN_IF_ERROR(CheckKeys(plan.keys, *keys));
  HEFT_ASSIGN_OR_RETURN(Projector projector,
                        Projector::Create(context, encoder, plan.projection, model, keys));
  HEFT_ASSIGN_OR_RETURN(Normaliser normaliser,
                        Normaliser::Create(context, plan.normalisation, keys));
  PaperRoute route(std::move(projector), std::move(normaliser));
  route.plan_ = plan;
  if (plan.packing.has_value()) {
    HEFT_ASSIGN_OR_RETURN(route.matcher_,
                          PackedMatcher::Create(context, encoder, *plan.packing, keys));
  }
  if (plan.projection.compact.has_value()) {
    route.instance_ =
        Instance{context, std::make_shared<const ckks::Encoder>(context), *plan.projection.compact};
  }
  return route;
}

absl::StatusOr<Fused> PaperRoute::Fuse(
    std::span<const std::vector<ckks::Ciphertext>> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const auto concatenated, projector_.Concatenate(modalities));
  HEFT_ASSIGN_OR_RETURN(const auto projected, projector_.Project(concatenated));
  return Normalise(projected);
}

absl::StatusOr<Fused> PaperRoute::Normalise(std::span<const ckks::Ciphertext> projected) const {
  if (plan_.projection.method == ProjectionMethod::kSimd) {
    return normaliser_.ApplyToCoordinates(projected);
  }
  if (projected.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(projected.size(), " projected ciphertexts, 1 expected"));
  }
  HEFT_ASSIGN_OR_RETURN(Normalised normalised, normaliser_.Apply(projected[0]));
  Fused out{.squared_norm = std::move(normalised.squared_norm)};
  out.z.push_back(std::move(normalised.z));
  return out;
}

using ckks::Ciphertext;

absl::StatusOr<std::vector<std::vector<Ciphertext>>> PaperEngine::EncryptBatch(
    const std::vector<FeatureMatrix>& modalities, size_t first, size_t count) const {
  std::vector<std::vector<Ciphertext>> batch;
  for (size_t m = 0; m < modalities.size(); ++m) {
    std::vector<std::vector<double>> rows;
    for (size_t i = first; i < first + count; ++i) {
      rows.emplace_back(modalities[m].row(i).begin(), modalities[m].row(i).end());
    }
    HEFT_ASSIGN_OR_RETURN(const std::vector<ckks::Plaintext> plain,
                          EncodeForProjection(world->encoder(), plan().projection, model, m, rows));
    batch.push_back(world->Encrypt(plain));
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<PaperEngine>> MakePaperEngine(const Model& model,
                                                             const NormalisationSpec& normalisation,
                                                             ProjectionMethod projection) {
  const auto make = [&](const Profile& profile, const ckks::Params& params) {
    return PlanPaperRoute(params, profile.scale, model, {projection, normalisation});
  };
  HEFT_ASSIGN_OR_RETURN(const auto planned, PlanForSmallestProfile<PaperRoutePlan>(make));
  auto engine = std::make_unique<PaperEngine>();
  engine->model = model;
  HEFT_ASSIGN_OR_RETURN(engine->world, experiment::KeyedContext::Create(planned.profile.spec));
  const experiment::KeyedContext& world = *engine->world;
  engine->world->MakeKeys(planned.plan.keys);
  HEFT_ASSIGN_OR_RETURN(engine->route,
                        PaperRoute::Create(world.shared_context(), world.encoder(), planned.plan,
                                           engine->model, &world.keys()));
  return engine;
}

}  // namespace heft::paper
