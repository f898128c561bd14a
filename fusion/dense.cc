// SPDX-License-Identifier: Apache-2.0
#include "fusion/dense.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace heft {

using ckks::Ciphertext;
using ckks::RotationElement;

absl::StatusOr<DensePlan> PlanDense(const ckks::Params& params, const Profile& profile,
                                    const Model& model) {
  HEFT_RETURN_IF_ERROR(model.Check());
  DensePlan plan;
  if (params.limbs() < kTemplateLimbs + 4) {
    return absl::InvalidArgumentError("the profile has too few levels for the dense route");
  }
  if (model.approximation.stages.size() != 1) {
    return absl::InvalidArgumentError(
        "the dense route takes one polynomial of degree 2 or 3; this model's is a composite: "
        "fusion/paper_route.h takes those");
  }
  HEFT_ASSIGN_OR_RETURN(plan.polynomial, FactorForEvaluation(model.approximation.stages[0]));
  plan.interval_hi = model.approximation.interval.hi;
  plan.template_scale = profile.scale;
  const size_t z_limbs = params.limbs() - 1;
  const double z_scale =
      ScaleBeforeNormalisation(params, plan.polynomial, z_limbs, plan.template_scale);
  HEFT_ASSIGN_OR_RETURN(plan.projection, PlanProjection(params, ProjectionMethod::kHybrid, model,
                                                        params.limbs(), profile.scale, z_scale));
  plan.gamma = plan.projection.gamma;
  plan.delta = plan.projection.delta;
  plan.vectors = plan.projection.vectors;
  plan.galois_keys = plan.projection.keys.galois_keys;
  plan.rotations =
      model.modalities.size() - 1 + plan.gamma - 1 + std::countr_zero(plan.delta / plan.gamma);
  for (uint32_t k = 1; k < plan.gamma; k *= 2) {
    plan.norm_folds.push_back({1, RotationElement(params, k)});
    size_t& have = plan.galois_keys[RotationElement(params, k)];
    have = std::max(have, z_limbs - 1);
  }
  plan.relinearisation_limbs = z_limbs;
  return plan;
}

absl::StatusOr<ckks::Plaintext> EncodeDense(const ckks::Encoder& encoder, const DensePlan& plan,
                                            const Model& model, size_t index,
                                            std::span<const std::vector<double>> vectors) {
  HEFT_ASSIGN_OR_RETURN(auto plain,
                        EncodeForProjection(encoder, plan.projection, model, index, vectors));
  return std::move(plain[0]);
}

absl::StatusOr<DenseFuser> DenseFuser::Create(std::shared_ptr<const ckks::Context> context,
                                              const ckks::Encoder& encoder, const DensePlan& plan,
                                              const Model& model,
                                              const ckks::EvaluationKeys* keys) {
  for (const auto& [element, limbs] : plan.galois_keys) {
    HEFT_RETURN_IF_ERROR(keys->Galois(element, limbs).status());
  }
  HEFT_RETURN_IF_ERROR(keys->Relinearisation(plan.relinearisation_limbs).status());
  DenseFuser fuser;
  fuser.context_ = context;
  fuser.plan_ = plan;
  fuser.keys_ = keys;
  HEFT_ASSIGN_OR_RETURN(Projector projector,
                        Projector::Create(context, encoder, plan.projection, model, keys));
  fuser.projector_ = std::make_shared<const Projector>(std::move(projector));
  return fuser;
}

absl::StatusOr<Ciphertext> DenseFuser::Concatenate(std::span<const Ciphertext> modalities) const {
  std::vector<std::vector<Ciphertext>> batches;
  for (const Ciphertext& c : modalities) batches.push_back({c});
  HEFT_ASSIGN_OR_RETURN(auto concatenated, projector_->Concatenate(batches));
  return std::move(concatenated[0]);
}

absl::StatusOr<Ciphertext> DenseFuser::ProjectHybrid(const Ciphertext& concatenated) const {
  HEFT_ASSIGN_OR_RETURN(auto z, projector_->Project({&concatenated, 1}));
  return std::move(z[0]);
}

absl::StatusOr<Normalised> DenseFuser::Normalise(const Ciphertext& projected) const {
  return NormaliseCiphertext(*context_, projected, plan_.polynomial, plan_.interval_hi,
                             plan_.norm_folds, *keys_);
}

absl::StatusOr<Normalised> DenseFuser::Fuse(std::span<const Ciphertext> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const Ciphertext concatenated, Concatenate(modalities));
  HEFT_ASSIGN_OR_RETURN(const Ciphertext projected, ProjectHybrid(concatenated));
  return Normalise(projected);
}

}  // namespace heft
