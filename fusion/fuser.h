// SPDX-License-Identifier: Apache-2.0
// Fuser: the server's part of fusion, from encrypted modalities to one encrypted, normalised
// template.
#ifndef HEFT_FUSION_FUSER_H_
#define HEFT_FUSION_FUSER_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/extended_ciphertext.h"
#include "ckks/keys.h"
#include "fusion/normalise.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft {

class Fuser {
 public:
  // Encodes the projection once. `keys` must outlive the fuser; kFailedPrecondition names the first
  // missing key. `samples`: fuses the mean from a sum of this many samples of one person
  // (fusion/mean.h); CheckMean's errors. `times`: a factor of Project's result.
  static absl::StatusOr<Fuser> Create(const Instance& instance, const Model& model,
                                      const ckks::EvaluationKeys* keys, size_t samples = 1,
                                      double times = 1);

  const ckks::Context& context() const { return *instance_.context; }
  const FusionPlan& plan() const { return instance_.plan; }
  const ckks::EvaluationKeys& keys() const { return *keys_; }

  // One pointer for each modality, in the model's order; nullptr for a missing modality, which
  // counts as the zero vector. Inputs are fresh ciphertexts of EncodeCompact's plaintexts, or sums
  // of them. z repeats with period gamma over all slots and has z_limbs limbs.
  absl::StatusOr<ckks::Ciphertext> Project(
      std::span<const ckks::Ciphertext* const> modalities) const;

  // Pack: Project's first step: the modalities of pair `index` in one ciphertext; empty if both are
  // missing. Products: the sums of products of that ciphertext with each set of factors of the
  // pair, such as factors().
  absl::StatusOr<ckks::Ciphertext> Pack(size_t index,
                                        std::span<const ckks::Ciphertext* const> modalities) const;
  absl::StatusOr<std::vector<ckks::ExtendedCiphertext>> Products(
      size_t index, const ckks::Ciphertext& packed,
      std::span<const std::span<const ckks::Plaintext>> factors) const;
  std::span<const ckks::Plaintext> factors(size_t index) const { return factors_[index]; }

  // Fold: Project's second half: z, which repeats, from products in partial sums over the groups of
  // slots, or from a vector that a client has projected (ProjectedScale). kInvalidArgument for
  // another form.
  absl::StatusOr<ckks::Ciphertext> Fold(const ckks::Ciphertext& products) const;

  // Turns Project's z into a template: template_limbs limbs at template_scale.
  absl::StatusOr<Normalised> Normalise(const ckks::Ciphertext& z) const;

  // Project, then normalise: template_limbs limbs at template_scale, values in about [-1, 1].
  absl::StatusOr<Normalised> Fuse(std::span<const ckks::Ciphertext* const> modalities) const;

 private:
  Fuser() = default;

  Instance instance_;
  const ckks::EvaluationKeys* keys_ = nullptr;
  size_t samples_ = 1;
  std::vector<std::vector<ckks::Plaintext>> factors_;  // [pair][i]
  std::vector<std::string> names_;
};

// kInvalidArgument, naming the modality, unless `input` has the parts, limbs and scale of a fresh
// ciphertext.
absl::Status CheckInput(const FusionPlan& plan, const ckks::Ciphertext& input,
                        std::string_view modality);

// IsRotationAndConjugation: true where `element` is a rotation followed by conjugation.
bool IsRotationAndConjugation(const ckks::Params& params, uint32_t element);

// FitPlanToKeys: adapts a plan to keys of other programs. One fold of the projection uses rotations
// with conjugation, for which SEAL's interface creates no keys. Unless `keys` has the key, a fold
// {1, a, b, ab} that needs one is split into {1, a} and {1, b}: the same sum, with one key fewer
// and one decomposition more.
void FitPlanToKeys(const ckks::EvaluationKeys& keys, FusionPlan* plan);

// ---- Enrolment of all pairs of a class from separately encrypted sets (paper, section
// "Protocols"). The projection is linear: each sample is projected once, and a pair costs one
// addition and a normalisation: a + b projections instead of a b.

// The projection of one sample of modality `index`, with all other modalities zero. Errors as
// Fuser::Project.
absl::StatusOr<ckks::Ciphertext> ProjectAlone(const Fuser& fuser, size_t index,
                                              const ckks::Ciphertext& sample);

// The normalised sum of projections of single samples: the result of Fuser::Fuse up to noise.
// kInvalidArgument for no projection.
absl::StatusOr<Normalised> FuseProjected(const Fuser& fuser,
                                         std::span<const ckks::Ciphertext* const> projected);

// sets[m]: the samples of modality m of one class, fresh ciphertexts of EncodeCompact's plaintexts;
// every set has one or more. Calls `use` with the fused template of every combination of one sample
// of each modality, in lexicographic order of their indices, the last fastest. Templates are made
// one at a time, because few classes fit into memory. Stops at the first error, also of `use`.
absl::Status FuseAllPairs(
    const Fuser& fuser, std::span<const std::vector<ckks::Ciphertext>> sets,
    const std::function<absl::Status(std::span<const size_t> indices, Normalised fused)>& use);

}  // namespace heft

#endif  // HEFT_FUSION_FUSER_H_
