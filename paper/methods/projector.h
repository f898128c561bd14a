// SPDX-License-Identifier: Apache-2.0
// Projector: the server's half of a projection, by the method of its plan.
#ifndef HEFT_PAPER_METHODS_PROJECTOR_H_
#define HEFT_PAPER_METHODS_PROJECTOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "fusion/fuser.h"
#include "heft/model.h"
#include "paper/methods/projection_plan.h"

namespace heft::paper {

class Projector {
 public:
  // Create encodes the matrix once. `keys` must outlive the projector; kFailedPrecondition where
  // they lack one that the plan needs.
  static absl::StatusOr<Projector> Create(std::shared_ptr<const ckks::Context> context,
                                          const ckks::Encoder& encoder, const ProjectionPlan& plan,
                                          const Model& model, const ckks::EvaluationKeys* keys);

  const ProjectionPlan& plan() const { return plan_; }
  // PlaintextBytes of the encoded matrix; 0 for SIMD, whose factors are integers.
  size_t PlaintextBytes() const;

  // Concatenate one batch: the fresh ciphertexts of each modality, in the model's order; empty
  // where a modality is missing (it counts as the zero vector: the projection is linear, so the sum
  // of the projections of single modalities is the projection of all). Dense: rotation and
  // addition; SIMD: the ciphertexts side by side; compact: the free imaginary part.
  absl::StatusOr<std::vector<ckks::Ciphertext>> Concatenate(
      std::span<const std::vector<ckks::Ciphertext>> modalities) const;

  // Project: z of a concatenated batch at plan.output_limbs and plan.output_scale. Dense: slot t of
  // window w holds row t mod gamma of vector w for t in [0, delta), and in all slots where one
  // vector fills all windows. SIMD: ciphertext r holds row r, vector j in slot j. Compact: z
  // repeats over all slots.
  absl::StatusOr<std::vector<ckks::Ciphertext>> Project(
      std::span<const ckks::Ciphertext> concatenated) const;

 private:
  Projector() = default;
  absl::Status EncodeFactors(const ckks::Encoder& encoder, const Model& model);
  absl::Status EncodeMasks(const ckks::Encoder& encoder);
  absl::StatusOr<ckks::Ciphertext> ProjectNaive(const ckks::Ciphertext& x) const;
  absl::StatusOr<ckks::Ciphertext> ProjectDiagonal(const ckks::Ciphertext& x) const;
  absl::StatusOr<ckks::Ciphertext> ProjectHybrid(const ckks::Ciphertext& x) const;
  absl::StatusOr<ckks::Ciphertext> ProjectBabyGiant(const ckks::Ciphertext& x) const;
  absl::StatusOr<ckks::Ciphertext> FoldAndRescale(ckks::Ciphertext sum) const;
  absl::StatusOr<std::vector<ckks::Ciphertext>> ProjectSimd(
      std::span<const ckks::Ciphertext> x) const;

  std::shared_ptr<const ckks::Context> context_;
  ProjectionPlan plan_;
  const ckks::EvaluationKeys* keys_ = nullptr;
  std::vector<ckks::Plaintext> factors_;  // rows or diagonals
  std::vector<ckks::Plaintext> masks_;    // kNaive
  std::vector<int64_t> weights_;          // kSimd, [gamma][sum of dimensions]
  std::shared_ptr<const Fuser> fuser_;    // kCompact
};

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_PROJECTOR_H_
