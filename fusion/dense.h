// SPDX-License-Identifier: Apache-2.0
// The paper's route, for comparison: dense encoding with a second copy of every vector,
// concatenation by rotation and addition, hybrid projection (Juvekar et al., Gazelle, 2018),
// rotations one at a time. Paper, section "Encrypted Template Fusion and Matching".
#ifndef HEFT_FUSION_DENSE_H_
#define HEFT_FUSION_DENSE_H_

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "fusion/model.h"
#include "fusion/normalise.h"
#include "fusion/plan.h"
#include "fusion/profile.h"
#include "fusion/projection_methods.h"

namespace heft {

struct DensePlan {
  uint32_t gamma = 0;
  uint32_t delta = 0;    // sum of dimensions, padded to a power of two
  uint32_t vectors = 0;  // floor(slots / (2 delta)) vectors a ciphertext
  ProjectionPlan projection;
  double template_scale = 0;
  FactoredPolynomial polynomial;
  double interval_hi = 0;
  std::vector<std::vector<uint32_t>> norm_folds;
  std::map<uint32_t, size_t> galois_keys;
  size_t relinearisation_limbs = 0;
  size_t rotations = 0;  // of concatenation and projection
};

// kInvalidArgument where 2 delta exceeds the slots or levels lack.
absl::StatusOr<DensePlan> PlanDense(const ckks::Params& params, const Profile& profile,
                                    const Model& model);

// Up to plan.vectors vectors of modality `index`, each in a window of 2 delta slots, twice; a
// single vector fills all windows (a probe).
absl::StatusOr<ckks::Plaintext> EncodeDense(const ckks::Encoder& encoder, const DensePlan& plan,
                                            const Model& model, size_t index,
                                            std::span<const std::vector<double>> vectors);

class DenseFuser {
 public:
  static absl::StatusOr<DenseFuser> Create(std::shared_ptr<const ckks::Context> context,
                                           const ckks::Encoder& encoder, const DensePlan& plan,
                                           const Model& model, const ckks::EvaluationKeys* keys);
  // The stages of the paper's table 3. Slot w * 2 delta + r of the results holds row r of window w.
  absl::StatusOr<ckks::Ciphertext> Concatenate(std::span<const ckks::Ciphertext> modalities) const;
  absl::StatusOr<ckks::Ciphertext> ProjectHybrid(const ckks::Ciphertext& concatenated) const;
  absl::StatusOr<Normalised> Normalise(const ckks::Ciphertext& projected) const;
  absl::StatusOr<Normalised> Fuse(std::span<const ckks::Ciphertext> modalities) const;

 private:
  std::shared_ptr<const ckks::Context> context_;
  DensePlan plan_;
  const ckks::EvaluationKeys* keys_ = nullptr;
  std::shared_ptr<const Projector> projector_;
};

}  // namespace heft

#endif  // HEFT_FUSION_DENSE_H_
