// SPDX-License-Identifier: Apache-2.0
#include "fusion/dense.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/compact.h"

namespace heft {

using ckks::Ciphertext;
using ckks::RotationElement;

absl::StatusOr<DensePlan> PlanDense(const ckks::Params& params, const ckks::Profile& profile,
                                    const Model& model) {
  HEFT_RETURN_IF_ERROR(model.Check());
  DensePlan plan;
  plan.gamma = model.gamma;
  plan.delta = std::max(std::bit_ceil(model.TotalDimension()), plan.gamma);
  plan.vectors = params.slots() / (2 * plan.delta);
  if (plan.vectors == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "two copies of ", plan.delta, " values do not fit into ", params.slots(), " slots"));
  }
  plan.input_limbs = params.limbs();
  if (plan.input_limbs < kTemplateLimbs + 4) {
    return absl::InvalidArgumentError("the profile has too few levels for the dense route");
  }
  if (model.approximation.stages.size() != 1) {
    return absl::InvalidArgumentError(
        "the dense route takes one polynomial of degree 2 or 3; this model's is a composite");
  }
  HEFT_ASSIGN_OR_RETURN(plan.polynomial, FactorForEvaluation(model.approximation.stages[0]));
  plan.interval_hi = model.approximation.interval.hi;
  plan.input_scale = plan.template_scale = profile.scale;
  const size_t z_limbs = plan.input_limbs - 1;
  const double z_scale =
      ScaleBeforeNormalisation(params, plan.polynomial, z_limbs, plan.template_scale);
  plan.factor_scale = z_scale * params.modulus(z_limbs).value() / plan.input_scale;

  auto need = [&](int64_t steps, size_t limbs) {
    size_t& have = plan.galois_keys[RotationElement(params, steps)];
    have = std::max(have, limbs);
  };
  int64_t offset = 0;
  for (const ModalitySpec& modality : model.modalities) {
    if (offset != 0) {
      need(-offset, plan.input_limbs);
      ++plan.rotations;
    }
    plan.offsets.push_back(offset);
    offset += modality.dimension;
  }
  for (uint32_t i = 1; i < plan.gamma; ++i) need(i, plan.input_limbs);
  for (uint32_t k = plan.delta / 2; k >= plan.gamma; k /= 2) {
    need(k, plan.input_limbs);
    ++plan.rotations;
  }
  plan.rotations += plan.gamma - 1;
  for (uint32_t k = 1; k < plan.gamma; k *= 2) {
    plan.norm_folds.push_back({1, RotationElement(params, k)});
    need(k, z_limbs - 1);
  }
  plan.relinearisation_limbs = z_limbs;
  return plan;
}

absl::StatusOr<ckks::Plaintext> EncodeDense(const ckks::Encoder& encoder, const DensePlan& plan,
                                            const Model& model, size_t index,
                                            std::span<const std::vector<double>> vectors) {
  if (vectors.empty() || vectors.size() > plan.vectors) {
    return absl::InvalidArgumentError(
        absl::StrCat(vectors.size(), " vectors for a ciphertext of ", plan.vectors));
  }
  const uint32_t window = 2 * plan.delta;
  std::vector<double> slots(encoder.slots(), 0);
  for (uint32_t w = 0; w < plan.vectors; ++w) {
    if (vectors.size() > 1 && w >= vectors.size()) break;
    const std::vector<double>& vector = vectors.size() == 1 ? vectors[0] : vectors[w];
    HEFT_ASSIGN_OR_RETURN(const auto unit, NormalizedVector(vector, model.modalities[index]));
    std::copy(unit.begin(), unit.end(), slots.begin() + w * window);
    std::copy(unit.begin(), unit.end(), slots.begin() + w * window + plan.delta);
  }
  HEFT_ASSIGN_OR_RETURN(ckks::Plaintext plain, encoder.Encode(std::span<const double>(slots),
                                                              plan.input_scale, plan.input_limbs));
  plain.noise.message = 1;  // as EncodeCompact: no coordinate of a template in the clear
  return plain;
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
  fuser.context_ = std::move(context);
  fuser.plan_ = plan;
  fuser.keys_ = keys;
  const uint32_t columns = model.TotalDimension();
  std::vector<double> diagonal(encoder.slots());
  for (uint32_t i = 0; i < plan.gamma; ++i) {
    for (uint32_t t = 0; t < diagonal.size(); ++t) {
      const uint32_t column = (t + i) % plan.delta;
      diagonal[t] = column < columns ? model.projection[(t % plan.gamma) * columns + column] : 0;
    }
    HEFT_ASSIGN_OR_RETURN(auto plain, encoder.Encode(std::span<const double>(diagonal),
                                                     plan.factor_scale, plan.input_limbs));
    fuser.diagonals_.push_back(std::move(plain));
  }
  return fuser;
}

absl::StatusOr<Ciphertext> DenseFuser::Concatenate(std::span<const Ciphertext> modalities) const {
  if (modalities.size() != plan_.offsets.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(modalities.size(), " modalities given, ", plan_.offsets.size(), " needed"));
  }
  Ciphertext sum = modalities[0];
  for (size_t i = 1; i < modalities.size(); ++i) {
    Ciphertext shifted;
    HEFT_RETURN_IF_ERROR(
        ckks::Rotate(*context_, &shifted, modalities[i], -plan_.offsets[i], *keys_));
    HEFT_RETURN_IF_ERROR(ckks::Add(*context_, &sum, sum, shifted));
  }
  return sum;
}

absl::StatusOr<Ciphertext> DenseFuser::ProjectHybrid(const Ciphertext& concatenated) const {
  Ciphertext sum;
  for (uint32_t i = 0; i < plan_.gamma; ++i) {
    Ciphertext term;
    HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &term, concatenated, i, *keys_));
    HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &term, term, diagonals_[i]));
    if (i == 0) {
      sum = std::move(term);
    } else {
      HEFT_RETURN_IF_ERROR(ckks::Add(*context_, &sum, sum, term));
    }
  }
  for (uint32_t k = plan_.delta / 2; k >= plan_.gamma; k /= 2) {
    Ciphertext shifted;
    HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &shifted, sum, k, *keys_));
    HEFT_RETURN_IF_ERROR(ckks::Add(*context_, &sum, sum, shifted));
  }
  HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &sum, sum));
  sum.noise.message = std::sqrt(plan_.interval_hi);
  return sum;
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
