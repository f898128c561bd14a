// SPDX-License-Identifier: Apache-2.0
#include "fusion/probe.h"

#include "absl/strings/str_cat.h"
#include "ckks/subchain.h"

namespace heft {

using ckks::Ciphertext;

absl::StatusOr<ProbeFuser> ProbeFuser::Create(const Instance& enrolment, const Model& model,
                                              const ckks::EvaluationKeys& keys) {
  ProbeFuser out;
  out.enrolment_plan_ = enrolment.plan;
  for (const ModalitySpec& modality : model.modalities) out.names_.push_back(modality.name);
  HEFT_ASSIGN_OR_RETURN(Instance instance, MakeProbeInstance(model));
  out.instance_ = std::make_unique<Instance>(std::move(instance));
  out.keys_ = std::make_unique<ckks::EvaluationKeys>(ckks::WithoutPrime(keys, kMaskPrime));
  HEFT_ASSIGN_OR_RETURN(Fuser fuser, Fuser::Create(*out.instance_, model, out.keys_.get()));
  out.fuser_ = std::make_unique<Fuser>(std::move(fuser));
  return out;
}

absl::StatusOr<Ciphertext> ProbeFuser::Project(
    std::span<const Ciphertext* const> modalities) const {
  std::vector<Ciphertext> inputs(modalities.size());
  std::vector<const Ciphertext*> pointers(modalities.size(), nullptr);
  for (size_t i = 0; i < modalities.size() && i < names_.size(); ++i) {
    if (modalities[i] == nullptr) continue;
    HEFT_RETURN_IF_ERROR(CheckInput(enrolment_plan_, *modalities[i], names_[i]));
    HEFT_ASSIGN_OR_RETURN(inputs[i], ckks::WithoutPrime(*modalities[i], kMaskPrime));
    pointers[i] = &inputs[i];
  }
  return fuser_->Project(pointers);
}

absl::StatusOr<Normalised> ProbeFuser::Normalise(const Ciphertext& z) const {
  return fuser_->Normalise(z);
}

absl::StatusOr<Normalised> ProbeFuser::Fuse(
    std::span<const Ciphertext* const> modalities) const {
  HEFT_ASSIGN_OR_RETURN(const Ciphertext z, Project(modalities));
  return Normalise(z);
}

}  // namespace heft
