// SPDX-License-Identifier: Apache-2.0
// BulkFuser: bulk fusion by the SIMD encoding (paper; docs/design.md, "Dense and SIMD"): one
// ciphertext for each coordinate, sample j in slot j, up to n/2 samples in one pass. The projection
// needs no rotation and no encoding: its factors are integers. Blocks are filled by masks only
// (docs/design.md, "Filling a block"). Templates equal those of the compact route and share
// galleries and probes.
#ifndef HEFT_FUSION_BULK_H_
#define HEFT_FUSION_BULK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "fusion/compact.h"
#include "fusion/matching.h"
#include "fusion/plan.h"
#include "fusion/rings.h"
#include "heft/model.h"

namespace heft {

// The client's part: samples of one modality by coordinates.
class SimdColumns {
 public:
  // Scales rows as EncodeCompact does. kInvalidArgument for no rows or more than n/2, and, with the
  // row, for a wrong dimension, NaN, infinity or a zero vector.
  static absl::StatusOr<SimdColumns> Create(const Instance& instance, const Model& model,
                                            size_t index, std::span<const std::vector<double>> rows,
                                            VectorLength length = VectorLength::kAny);

  uint32_t dimension() const { return static_cast<uint32_t>(columns_.size()); }
  // Coordinate d of every sample, sample j in slot j, for the client to encrypt.
  absl::StatusOr<ckks::Plaintext> Encode(const Instance& instance, uint32_t d) const;

 private:
  std::vector<std::vector<double>> columns_;  // [dimension][sample]
};

// Fused, normalised templates: coordinate r of sample j in slot (first + j) mod n/2 of
// coordinates[r].
struct TemplateBatch {
  std::vector<ckks::Ciphertext> coordinates;  // gamma, each as a fused template: TemplateLimbs
  uint32_t first = 0;
  uint32_t count = 0;
  // After SplitBatch: the odd halves; `coordinates` are then the even ones.
  std::vector<ckks::Ciphertext> odd;
  // For each sample, whether AddBatchToBlock leaves it out. Empty: none.
  std::vector<bool> left_out;

  bool Joins(uint32_t sample) const { return left_out.empty() || !left_out[sample]; }
};

// The server's part, for one batch: add every coordinate of the present modalities, then finish.
// Uses all threads; results do not depend on their number.
class BulkFuser {
 public:
  // `keys` must outlive the fuser; kFailedPrecondition without a relinearisation key.
  static absl::StatusOr<BulkFuser> Create(const Instance& instance, const Model& model,
                                          const ckks::EvaluationKeys* keys);

  // Coordinates [first, first + columns.size()) of a modality, each once, in any order and number:
  // fresh ciphertexts of SimdColumns' plaintexts. On error the sums are unchanged.
  absl::Status Add(size_t modality, uint32_t first, std::span<const ckks::Ciphertext> columns);

  // The templates of `count` samples, n/2 at most. A modality without added coordinates is the zero
  // vector; kInvalidArgument if some of its coordinates are missing, or all modalities are.
  absl::StatusOr<TemplateBatch> Finish(uint32_t count);

 private:
  BulkFuser() = default;
  absl::Status CheckColumns(size_t modality, uint32_t first,
                            std::span<const ckks::Ciphertext> columns) const;
  absl::Status CheckComplete() const;
  absl::StatusOr<ckks::Ciphertext> SquaredNorm(std::span<const ckks::Ciphertext> z) const;

  Instance instance_;
  const ckks::EvaluationKeys* keys_ = nullptr;
  std::vector<ModalitySpec> modalities_;
  std::vector<size_t> offsets_;           // of each modality's coordinates among all
  size_t total_ = 0;                      // coordinates of all modalities
  std::vector<int64_t> weights_;          // round(P factor_scale), [gamma][total]
  std::vector<std::vector<bool>> added_;  // [modality][coordinate]
  std::vector<ckks::Ciphertext> sums_;    // z_r before the rescale
};

// Rotates a batch so that sample 0 is in slot `first`, with the plan's keys only.
absl::Status MoveBatch(const Instance& instance, TemplateBatch* batch, uint32_t first,
                       const ckks::EvaluationKeys& keys);

// SplitBatch: moves a batch of the enrolment ring, already rotated to its slots, into the matching
// ring: both halves of each coordinate (ckks/ring_switch.h). AddBatchToBlock's masks extract either
// half of the slots from these. One ring: does nothing.
absl::Status SplitBatch(const Rings& rings, const ckks::SwitchKey& ring_switch,
                        TemplateBatch* batch);

// AddBatchToBlock: adds the samples in slots [slot, slot + count) of `batch`, without those to be
// left out, to the same slots of one lane of a block, which must hold no template. After SplitBatch
// the batch has twice a block's slots: the block is filled at `slot` modulo its own slots, and the
// range must be in one half. G_k = sum over e of mask_e C_((e + k) mod gamma), where mask_e is one
// in the slots j = e (mod gamma) of the range. A zero mask costs nothing, so the time grows with
// the samples, up to gamma of them. Each sum is rotated back by GiantSteps(k) slots. On error the
// block is unchanged; kFailedPrecondition if a key is missing.
absl::Status AddBatchToBlock(const Instance& instance, TiledCiphertexts* block,
                             const TemplateBatch& batch, uint32_t slot, uint32_t count,
                             uint32_t lane, const ckks::EvaluationKeys& keys);

}  // namespace heft

#endif  // HEFT_FUSION_BULK_H_
