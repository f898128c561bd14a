// SPDX-License-Identifier: Apache-2.0
#include "fusion/fuser.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/compact.h"
#include "fusion/plan_for_keys.h"

namespace heft {

using ckks::Ciphertext;

absl::StatusOr<Fuser> Fuser::Create(const Instance& instance, const Model& model,
                                    const ckks::EvaluationKeys* keys) {
  Fuser fuser;
  fuser.instance_ = instance;
  FitPlanToKeys(instance.params(), *keys, &fuser.instance_.plan);
  HEFT_RETURN_IF_ERROR(CheckKeys(fuser.instance_.plan.keys, *keys));
  fuser.keys_ = keys;
  for (const ModalitySpec& modality : model.modalities) fuser.names_.push_back(modality.name);
  const ckks::Params& params = instance.context->params();
  for (const PackedPair& pair : instance.plan.pairs) {
    HEFT_ASSIGN_OR_RETURN(auto factors, EncodeCompactFactors(instance, model, pair));
    fuser.factors_.push_back(std::move(factors));
    std::vector<uint32_t> elements;
    for (uint32_t i = 0; i < pair.run; ++i) elements.push_back(RotationElement(params, i));
    fuser.factor_elements_.push_back(std::move(elements));
  }
  return fuser;
}

absl::Status CheckInput(const FusionPlan& p, const Ciphertext& input, std::string_view modality) {
  if (input.size() == 2 && input.limbs() == p.input_limbs &&
      std::abs(input.scale - p.input_scale) <= 1e-9 * p.input_scale) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the ", std::string(modality), " ciphertext has ", input.size(), " parts, ", input.limbs(),
      " limbs and scale 2^", std::log2(input.scale), "; a fresh one with ", p.input_limbs,
      " limbs and scale 2^", std::log2(p.input_scale), " is needed"));
}

absl::StatusOr<Ciphertext> Fuser::Project(std::span<const Ciphertext* const> modalities) const {
  if (modalities.size() != names_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(modalities.size(), " modalities given, the model has ", names_.size()));
  }
  for (size_t i = 0; i < modalities.size(); ++i) {
    if (modalities[i] != nullptr) {
      HEFT_RETURN_IF_ERROR(CheckInput(plan(), *modalities[i], names_[i]));
    }
  }
  const ckks::Context& ctx = context();
  Ciphertext z;
  for (size_t p = 0; p < plan().pairs.size(); ++p) {
    const PackedPair& pair = plan().pairs[p];
    const Ciphertext* first = modalities[pair.first];
    const Ciphertext* second = pair.second < 0 ? nullptr : modalities[pair.second];
    if (first == nullptr && second == nullptr) continue;
    // The second modality goes to the imaginary part: concatenation is free.
    Ciphertext packed;
    if (second != nullptr) ckks::MultiplyByMonomial(ctx, &packed, *second);
    if (first != nullptr) {
      if (second == nullptr) {
        packed = *first;
      } else {
        HEFT_RETURN_IF_ERROR(ckks::Add(ctx, &packed, packed, *first));
      }
    }
    // Unit vectors: the folds sum over the slots, so their root mean square counts for the error.
    const double values = double(pair.run) * ctx.slots() / plan().gamma;
    packed.noise.message = std::sqrt((first != nullptr && second != nullptr ? 2 : 1) / values);
    Ciphertext part;
    HEFT_RETURN_IF_ERROR(
        ckks::SumGaloisProducts(ctx, &part, packed, factor_elements_[p], factors_[p], *keys_));
    if (z.parts.empty()) {
      z = std::move(part);
    } else {
      HEFT_RETURN_IF_ERROR(ckks::Add(ctx, &z, z, part));
    }
  }
  if (z.parts.empty()) return absl::InvalidArgumentError("no modality given");
  for (size_t i = 0; i < plan().projection_folds.size(); ++i) {
    const std::vector<uint32_t>& fold = plan().projection_folds[i];
    if (i + 1 == plan().folds_before_rescale) {
      HEFT_RETURN_IF_ERROR(ckks::SumGaloisAndRescale(ctx, &z, z, fold, *keys_));
    } else {
      HEFT_RETURN_IF_ERROR(ckks::SumGalois(ctx, &z, z, fold, *keys_));
    }
  }
  // One coordinate of z is at most its length.
  z.noise.message = std::sqrt(plan().interval_hi);
  return z;
}

absl::StatusOr<Normalised> Fuser::Fuse(std::span<const Ciphertext* const> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const Ciphertext z, Project(modalities));
  return Normalise(z);
}

absl::StatusOr<Normalised> Fuser::Normalise(const Ciphertext& z) const {
  HEFT_ASSIGN_OR_RETURN(Normalised out,
                        NormaliseCiphertext(context(), z, plan().polynomial, plan().interval_hi,
                                            plan().norm_folds, *keys_));
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context(), &out.z, out.z, plan().template_limbs));
  return out;
}

}  // namespace heft
