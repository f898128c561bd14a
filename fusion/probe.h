// SPDX-License-Identifier: Apache-2.0
// The route of a 1:N probe. Only enrolment and verification mask, so a probe is fused without the
// mask's prime: a quarter fewer key bytes and transforms. What comes out matches the same gallery.
#ifndef HEFT_FUSION_PROBE_H_
#define HEFT_FUSION_PROBE_H_

#include <memory>
#include <span>

#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/fuser.h"
#include "fusion/matching.h"

namespace heft {

class ProbeFuser {
 public:
  // `enrolment` is MakeInstance's for the model; `keys` are copied without the mask's prime.
  // kFailedPrecondition where they lack one that the plan needs.
  static absl::StatusOr<ProbeFuser> Create(const Instance& enrolment, const Model& model,
                                           const ckks::EvaluationKeys& keys);

  // What PrepareProbe and MatchBlock take for its probes.
  const Instance& instance() const { return *instance_; }
  const ckks::EvaluationKeys& keys() const { return *keys_; }

  // As Fuser's, from the same ciphertexts; templates come out in kMatchLimbs limbs.
  absl::StatusOr<ckks::Ciphertext> Project(
      std::span<const ckks::Ciphertext* const> modalities) const;
  absl::StatusOr<Normalised> Normalise(const ckks::Ciphertext& z) const;
  absl::StatusOr<Normalised> Fuse(std::span<const ckks::Ciphertext* const> modalities) const;

 private:
  ProbeFuser() = default;

  FusionPlan enrolment_plan_;
  std::vector<std::string> names_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<ckks::EvaluationKeys> keys_;
  std::unique_ptr<Fuser> fuser_;
};

}  // namespace heft

#endif  // HEFT_FUSION_PROBE_H_
