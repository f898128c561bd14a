// SPDX-License-Identifier: Apache-2.0
#include "fusion/all_pairs.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"

namespace heft {

using ckks::Ciphertext;

absl::StatusOr<Ciphertext> ProjectAlone(const Fuser& fuser, size_t index,
                                        const Ciphertext& sample) {
  size_t modalities = 0;
  for (const PackedPair& pair : fuser.plan().pairs) modalities += pair.second < 0 ? 1 : 2;
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
  const FusionPlan& plan = fuser.plan();
  Ciphertext z = *projected[0];
  for (const Ciphertext* other : projected.subspan(1)) {
    HEFT_RETURN_IF_ERROR(ckks::Add(fuser.context(), &z, z, *other));
  }
  z.noise.message = std::sqrt(plan.interval_hi);  // as Fuser::Project
  HEFT_ASSIGN_OR_RETURN(Normalised out,
                        NormaliseCiphertext(fuser.context(), z, plan.polynomial, plan.interval_hi,
                                            plan.norm_folds, fuser.keys()));
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(fuser.context(), &out.z, out.z, plan.template_limbs));
  return out;
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
