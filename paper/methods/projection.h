// SPDX-License-Identifier: Apache-2.0
// The projection z = P [x; y; ...] by every method that the paper compares, on one interface:
// encode, concatenate, project, read. Paper, sections "Input Encoding",
// "Concatenating Ciphertexts", "Encrypted Linear Projection" and the appendix "Additional Linear
// Projection Methods"; docs/design.md, "The encodings".
//
// Dense encodings: delta is the sum of the dimensions padded to a power of two (the methods fold by
// halves, the paper's 192 + 512 becomes 1024); a vector takes a window of 2 delta slots, itself and
// a copy for the rotations to run into; floor(slots / 2 delta) vectors a ciphertext.
#ifndef HEFT_PAPER_METHODS_PROJECTION_H_
#define HEFT_PAPER_METHODS_PROJECTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "fusion/fuser.h"
#include "fusion/key_needs.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft::paper {

enum class ProjectionMethod {
  kNaive,            // row by row: product, fold over delta, mask, sum; two levels
  kDiagonalSquare,   // Halevi and Shoup on a square matrix: needs gamma == delta
  kDiagonalPadded,   // the same with P padded by zero rows to delta x delta
  kHybrid,           // gamma extended diagonals, then folds (Gazelle; the paper's choice)
  kHybridBabyGiant,  // the same diagonals, about 2 sqrt(gamma) rotations
  kSimd,             // a ciphertext a coordinate, no rotations
  kCompact,          // ours: docs/design.md, "The compact encoding"
};
inline constexpr ProjectionMethod kAllProjectionMethods[] = {
    ProjectionMethod::kNaive,           ProjectionMethod::kDiagonalSquare,
    ProjectionMethod::kDiagonalPadded,  ProjectionMethod::kHybrid,
    ProjectionMethod::kHybridBabyGiant, ProjectionMethod::kSimd,
    ProjectionMethod::kCompact};

// ProjectionMethodName: "naive", "diagonal-square", "diagonal-padded", "hybrid", "hybrid-bsgs",
// "simd", "compact".
std::string ProjectionMethodName(ProjectionMethod method);
// IsDense: all but kSimd and kCompact.
bool IsDense(ProjectionMethod method);
// IsDiagonal: kDiagonalSquare and kDiagonalPadded.
bool IsDiagonal(ProjectionMethod method);

struct ProjectionPlan {
  ProjectionMethod method = ProjectionMethod::kHybrid;
  uint32_t gamma = 0;
  uint32_t delta = 0;  // sum of dimensions, padded to a power of two
  std::vector<uint32_t> dimensions;
  std::vector<int64_t> offsets;  // of each modality in the concatenation
  uint32_t vectors = 0;          // one batch: floor(slots / 2 delta), slots (SIMD) or 1 (compact)
  size_t input_limbs = 0;        // fresh ciphertexts, and `vectors` of them in a batch
  size_t output_limbs = 0;       // of z: one less, two less for kNaive
  double input_scale = 0, factor_scale = 0, output_scale = 0;
  double interval_hi = 0;             // largest |z|^2 expected, for the noise estimate
  uint32_t baby_steps = 0;            // kHybridBabyGiant
  std::optional<FusionPlan> compact;  // kCompact
  KeyNeeds keys;

  // InputCiphertexts of a batch: `dimension` of a modality for SIMD, else 1.
  size_t InputCiphertexts(size_t modality) const;
};

// PlanProjection for fresh ciphertexts with `input_limbs` limbs (0: all) at `input_scale`, and z at
// `output_scale` (0: the input's). Uses the model's modalities, gamma, projection and the upper end
// of its approximation's interval; gamma may be any power of two up to delta. kInvalidArgument
// where 2 delta exceeds the slots, levels lack, or kDiagonalSquare meets gamma != delta.
absl::StatusOr<ProjectionPlan> PlanProjection(const ckks::Params& params, ProjectionMethod method,
                                              const Model& model, size_t input_limbs,
                                              double input_scale, double output_scale = 0);

// EncodeForProjection, the client's half: 1 to plan.vectors vectors of modality `index`, scaled to
// unit length here. A single vector fills all windows (dense) or slots (SIMD): a probe. Errors as
// EncodeCompact.
absl::StatusOr<std::vector<ckks::Plaintext>> EncodeForProjection(
    const ckks::Encoder& encoder, const ProjectionPlan& plan, const Model& model, size_t index,
    std::span<const std::vector<double>> vectors);

// ReadProjection: rows of `count` vectors from the decoded slots of a projection's results,
// [vector][gamma].
std::vector<std::vector<double>> ReadProjection(const ProjectionPlan& plan,
                                                std::span<const std::vector<ckks::Complex>> slots,
                                                uint32_t count);

// Projector: the server's half of a projection, by the method of its plan.

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

#endif  // HEFT_PAPER_METHODS_PROJECTION_H_
