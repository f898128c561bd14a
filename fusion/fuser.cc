// SPDX-License-Identifier: Apache-2.0
#include "fusion/fuser.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/compact.h"
#include "fusion/mean.h"

namespace heft {

using ckks::Ciphertext;

absl::StatusOr<Fuser> Fuser::Create(const Instance& instance, const Model& model,
                                    const ckks::EvaluationKeys* keys, size_t samples,
                                    double times) {
  HEFT_RETURN_IF_ERROR(CheckMean(model, samples));
  Fuser fuser;
  fuser.instance_ = instance;
  fuser.samples_ = samples;
  FitPlanToKeys(*keys, &fuser.instance_.plan);
  HEFT_RETURN_IF_ERROR(CheckKeys(fuser.instance_.plan.keys, *keys));
  fuser.keys_ = keys;
  for (const ModalitySpec& modality : model.modalities) fuser.names_.push_back(modality.name);
  for (const PackedPair& pair : instance.plan.projection.pairs) {
    HEFT_ASSIGN_OR_RETURN(auto factors, EncodeCompactFactors(instance, model, pair,
                                                             times * MeanFactor(model, samples)));
    fuser.factors_.push_back(std::move(factors));
  }
  return fuser;
}

absl::Status CheckInput(const FusionPlan& p, const Ciphertext& input, std::string_view modality) {
  if (input.size() == 2 && input.limbs() == p.projection.input_limbs &&
      std::abs(input.scale - p.projection.input_scale) <= 1e-9 * p.projection.input_scale) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the ", std::string(modality), " ciphertext has ", input.size(), " parts, ",
                   input.limbs(), " limbs and scale 2^", std::log2(input.scale),
                   "; a fresh one with ", p.projection.input_limbs, " limbs and scale 2^",
                   std::log2(p.projection.input_scale), " is needed"));
}

absl::StatusOr<Ciphertext> Fuser::Pack(size_t index,
                                       std::span<const Ciphertext* const> modalities) const {
  if (modalities.size() != names_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(modalities.size(), " modalities given, the model has ", names_.size()));
  }
  const PackedPair& pair = plan().projection.pairs[index];
  const Ciphertext* first = modalities[pair.first];
  const Ciphertext* second = pair.second < 0 ? nullptr : modalities[pair.second];
  Ciphertext packed;
  if (first == nullptr && second == nullptr) return packed;
  if (first != nullptr) HEFT_RETURN_IF_ERROR(CheckInput(plan(), *first, names_[pair.first]));
  // The second modality is in the imaginary part: concatenation is free.
  if (second != nullptr) {
    HEFT_RETURN_IF_ERROR(CheckInput(plan(), *second, names_[static_cast<size_t>(pair.second)]));
    ckks::MultiplyByMonomial(context(), &packed, *second);
  }
  if (second == nullptr) {
    packed = *first;
  } else if (first != nullptr) {
    HEFT_RETURN_IF_ERROR(ckks::Add(context(), &packed, packed, *first));
  }
  // Unit vectors: the folds sum over the slots, so the root mean square determines the error.
  const double values = double(pair.run) * context().slots() / plan().gamma;
  packed.noise.message = static_cast<double>(samples_) *
                         std::sqrt((first != nullptr && second != nullptr ? 2 : 1) / values);
  return packed;
}

absl::StatusOr<std::vector<ckks::ExtendedCiphertext>> Fuser::Products(
    size_t index, const Ciphertext& packed,
    std::span<const std::span<const ckks::Plaintext>> factors) const {
  const RotationGrid& grid = plan().projection.pairs[index].grid;
  const ckks::Params& params = context().params();
  return ckks::SumGaloisProductsInSteps(context(), packed, grid.BabyElements(params),
                                        grid.GiantElements(params), factors, *keys_);
}

absl::StatusOr<Ciphertext> Fuser::Project(std::span<const Ciphertext* const> modalities) const {
  Ciphertext z;
  for (size_t p = 0; p < plan().projection.pairs.size(); ++p) {
    HEFT_ASSIGN_OR_RETURN(const Ciphertext packed, Pack(p, modalities));
    if (packed.parts.empty()) continue;
    const std::span<const ckks::Plaintext> factors[] = {factors_[p]};
    HEFT_ASSIGN_OR_RETURN(std::vector<ckks::ExtendedCiphertext> sums, Products(p, packed, factors));
    Ciphertext part;
    ckks::Divide(context(), &part, sums[0]);
    if (z.parts.empty()) {
      z = std::move(part);
    } else {
      HEFT_RETURN_IF_ERROR(ckks::Add(context(), &z, z, part));
    }
  }
  if (z.parts.empty()) return absl::InvalidArgumentError("no modality given");
  return Fold(z);
}

absl::StatusOr<Ciphertext> Fuser::Fold(const Ciphertext& products) const {
  if (products.size() != 2 || products.limbs() != plan().projection.input_limbs) {
    return absl::InvalidArgumentError(absl::StrCat("a projection of ", products.size(),
                                                   " parts and ", products.limbs(), " limbs"));
  }
  Ciphertext z = products;
  for (size_t i = 0; i < plan().projection.folds.size(); ++i) {
    const std::vector<uint32_t>& fold = plan().projection.folds[i];
    if (i + 1 == plan().projection.folds_before_rescale) {
      HEFT_RETURN_IF_ERROR(ckks::SumGaloisAndRescale(context(), &z, z, fold, *keys_));
    } else {
      HEFT_RETURN_IF_ERROR(ckks::SumGalois(context(), &z, z, fold, *keys_));
    }
  }
  // One coordinate of z is at most its length.
  z.noise.message = std::sqrt(plan().normalisation.interval_hi);
  return z;
}

absl::StatusOr<Normalised> Fuser::Fuse(std::span<const Ciphertext* const> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const Ciphertext z, Project(modalities));
  return Normalise(z);
}

absl::StatusOr<Normalised> Fuser::Normalise(const Ciphertext& z) const {
  HEFT_ASSIGN_OR_RETURN(Normalised out, NormaliseCiphertext(instance_, z, *keys_));
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context(), &out.z, out.z, plan().matching.template_limbs));
  return out;
}

bool IsRotationAndConjugation(const ckks::Params& params, uint32_t element) {
  // The powers of 3 are 1 and 3 modulo 8, their negatives 7 and 5.
  const uint32_t residue = element % 8;
  return (residue == 5 || residue == 7) && element != ckks::ConjugationElement(params);
}

void FitPlanToKeys(const ckks::EvaluationKeys& keys, FusionPlan* plan) {
  std::vector<std::vector<uint32_t>> folds;
  size_t before_rescale = plan->projection.folds_before_rescale;
  for (size_t i = 0; i < plan->projection.folds.size(); ++i) {
    const std::vector<uint32_t>& fold = plan->projection.folds[i];
    const bool split = fold.size() == 4 && keys.galois.count(fold[3]) == 0;
    if (!split) {
      folds.push_back(fold);
      continue;
    }
    folds.push_back({1, fold[1]});
    folds.push_back({1, fold[2]});
    plan->keys.galois_keys.erase(fold[3]);
    --plan->key_switches;
    if (i < plan->projection.folds_before_rescale) ++before_rescale;
  }
  plan->projection.folds = std::move(folds);
  plan->projection.folds_before_rescale = before_rescale;
}

absl::StatusOr<Ciphertext> ProjectAlone(const Fuser& fuser, size_t index,
                                        const Ciphertext& sample) {
  size_t modalities = 0;
  for (const PackedPair& pair : fuser.plan().projection.pairs)
    modalities += pair.second < 0 ? 1 : 2;
  if (index >= modalities) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no modality ", index));
  }
  std::vector<const Ciphertext*> inputs(modalities, nullptr);
  inputs[index] = &sample;
  return fuser.Project(inputs);
}

absl::StatusOr<Normalised> FuseProjected(const Fuser& fuser,
                                         std::span<const Ciphertext* const> projected) {
  if (projected.empty()) return absl::InvalidArgumentError("no projection given");
  Ciphertext z = *projected[0];
  for (const Ciphertext* other : projected.subspan(1)) {
    HEFT_RETURN_IF_ERROR(ckks::Add(fuser.context(), &z, z, *other));
  }
  z.noise.message = std::sqrt(fuser.plan().normalisation.interval_hi);  // as Project
  return fuser.Normalise(z);
}

absl::Status FuseAllPairs(
    const Fuser& fuser, std::span<const std::vector<Ciphertext>> sets,
    const std::function<absl::Status(std::span<const size_t> indices, Normalised fused)>& use) {
  std::vector<std::vector<Ciphertext>> projected(sets.size());
  for (size_t m = 0; m < sets.size(); ++m) {
    if (sets[m].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the class has no sample of modality ", m, ": pairs need one of each"));
    }
    for (const Ciphertext& sample : sets[m]) {
      HEFT_ASSIGN_OR_RETURN(Ciphertext z, ProjectAlone(fuser, m, sample));
      projected[m].push_back(std::move(z));
    }
  }
  std::vector<size_t> indices(sets.size(), 0);
  while (true) {
    std::vector<const Ciphertext*> parts;
    for (size_t m = 0; m < sets.size(); ++m) parts.push_back(&projected[m][indices[m]]);
    HEFT_ASSIGN_OR_RETURN(Normalised fused, FuseProjected(fuser, parts));
    HEFT_RETURN_IF_ERROR(use(indices, std::move(fused)));
    size_t m = sets.size();
    while (m > 0 && ++indices[m - 1] == sets[m - 1].size()) indices[--m] = 0;
    if (m == 0) return absl::OkStatus();
  }
}

}  // namespace heft
