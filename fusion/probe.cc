// SPDX-License-Identifier: Apache-2.0
#include "fusion/probe.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ckks/noise.h"
#include "ckks/subchain.h"
#include "fusion/fuser.h"
#include "fusion/norm_proof.h"

namespace heft {

using ckks::Ciphertext;

namespace {

// The error that the key switches of one step may add to a slot, relative to their scale.
constexpr double kSwitchingError = 2.5e-4;

// At a large scale the error of a key switch matters little, so digits of two primes suffice: for
// relinearisations, at the scale of a product, and for folds of the projection before the rescale.
void WidenDigits(const Instance& instance, ckks::EvaluationKeys* keys) {
  const ckks::Context& context = *instance.context;
  const ckks::Params& params = instance.params();
  const FusionPlan& plan = instance.plan;
  WidenRelinearisation(instance, keys);

  // Rotations that are also used elsewhere keep their digits.
  KeyNeeds rotations;
  plan.matching.grid.AddNeeds(params, 1, &rotations);
  for (const PackedPair& pair : plan.projection.pairs) pair.grid.AddNeeds(params, 1, &rotations);
  std::set<uint32_t> elsewhere;
  for (const auto& [element, limbs] : rotations.galois_keys) elsewhere.insert(element);
  const size_t folds = plan.projection.folds.size();
  for (size_t i = plan.projection.folds_before_rescale; i < folds; ++i) {
    elsewhere.insert(plan.projection.folds[i].begin(), plan.projection.folds[i].end());
  }
  for (const auto& fold : plan.normalisation.folds) elsewhere.insert(fold.begin(), fold.end());
  // From the last fold: a sum of independent errors grows with the square root of its terms, in its
  // own fold and in each later one.
  double growth = 1;
  for (size_t i = folds; i-- > 0;) {
    growth *= std::sqrt(static_cast<double>(plan.projection.folds[i].size()));
    if (i >= plan.projection.folds_before_rescale) continue;
    const ckks::DigitSizes sizes = ckks::DigitsWithin(
        params, plan.projection.input_limbs,
        kSwitchingError / 2 / growth * plan.projection.input_scale * plan.projection.factor_scale);
    for (uint32_t element : plan.projection.folds[i]) {
      if (element == 1 || elsewhere.contains(element)) continue;
      ckks::SwitchKey& key = keys->galois.at(element);
      key = key.WithDigits(context, sizes);
    }
  }
}

}  // namespace

void WidenRelinearisation(const Instance& instance, ckks::EvaluationKeys* keys) {
  const ckks::Params& params = instance.params();
  const FusionPlan& plan = instance.plan;
  const bool proves_norms = plan.normalisation.polynomial.degree == 0;
  if (proves_norms && ProvesCarefully(plan)) return;
  const double product_scale =
      std::pow(std::min(plan.projection.z_scale, plan.matching.block_scale), 2);
  ckks::SwitchKey& key = keys->relinearisation;
  key = key.WithDigits(*instance.context,
                       ckks::DigitsWithin(params, key.limbs(), kSwitchingError * product_scale));
}

absl::Status ProbeFuser::MakeShortInstance(const Model& model, const ckks::EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(Instance instance, MakeProbeInstance(model));
  instance_ = std::make_unique<Instance>(std::move(instance));
  FitPlanToKeys(keys, &instance_->plan);
  double& error = instance_->plan.matching.probe_error;
  error = ckks::Combine(error, kSwitchingError);
  return absl::OkStatus();
}

absl::StatusOr<ProbeFuser> ProbeFuser::ToMatch(const Model& model,
                                               const ckks::EvaluationKeys& keys) {
  ProbeFuser out;
  HEFT_RETURN_IF_ERROR(out.MakeShortInstance(model, keys));
  out.own_keys_ = std::make_unique<ckks::EvaluationKeys>();
  out.own_keys_->key_id = keys.key_id;
  out.own_keys_->relinearisation = ckks::WithoutPrime(keys.relinearisation, kMaskPrime);
  out.keys_ = out.own_keys_.get();
  const size_t limbs = out.instance_->plan.keys.relinearisation_limbs;
  HEFT_RETURN_IF_ERROR(out.keys_->Relinearisation(limbs).status());
  WidenRelinearisation(*out.instance_, out.own_keys_.get());
  return out;
}

absl::StatusOr<ProbeFuser> ProbeFuser::Create(const Rings& rings, const Model& model,
                                              const ckks::EvaluationKeys& keys, size_t samples) {
  ProbeFuser out;
  if (rings.thin()) {
    // With digits of two primes for the folds, as below, fusion was not faster (measured), and the
    // error of a score rose from 1.2e-4 to 1.6e-4.
    HEFT_ASSIGN_OR_RETURN(ThinFuser thin, ThinFuser::Create(rings.matching, model, &keys, samples));
    out.thin_ = std::make_unique<ThinFuser>(std::move(thin));
    out.instance_ = std::make_unique<Instance>(out.thin_->instance());
    out.keys_ = &keys;
    return out;
  }
  out.enrolment_plan_ = rings.enrolment.plan;
  for (const ModalitySpec& modality : model.modalities) out.names_.push_back(modality.name);
  HEFT_RETURN_IF_ERROR(out.MakeShortInstance(model, keys));
  out.own_keys_ = std::make_unique<ckks::EvaluationKeys>(ckks::WithoutPrime(keys, kMaskPrime));
  out.keys_ = out.own_keys_.get();
  HEFT_RETURN_IF_ERROR(CheckKeys(out.instance_->plan.keys, *out.keys_));
  WidenDigits(*out.instance_, out.own_keys_.get());
  HEFT_ASSIGN_OR_RETURN(Fuser fuser, Fuser::Create(*out.instance_, model, out.keys_, samples));
  out.fuser_ = std::make_unique<Fuser>(std::move(fuser));
  return out;
}

absl::StatusOr<Ciphertext> ProbeFuser::Project(
    std::span<const Ciphertext* const> modalities) const {
  HEFT_DCHECK(fuser_ != nullptr, "of one ring");
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
  HEFT_DCHECK(fuser_ != nullptr, "of one ring");
  return fuser_->Normalise(z);
}

absl::StatusOr<ProvenProbe> ProbeFuser::Fuse(std::span<const Ciphertext* const> modalities,
                                             std::optional<double> sigma) const {
  if (thin_ != nullptr) return thin_->Fuse(modalities, sigma);
  HEFT_ASSIGN_OR_RETURN(const Ciphertext z, Project(modalities));
  HEFT_ASSIGN_OR_RETURN(Normalised normalised, Normalise(z));
  return ProvenProbe{std::move(normalised.z), {}};
}

}  // namespace heft
