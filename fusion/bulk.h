// SPDX-License-Identifier: Apache-2.0
// BulkFuser: bulk fusion by the SIMD encoding (paper; docs/design.md, "Dense and SIMD"): one
// ciphertext a coordinate, sample j in slot j, up to n/2 samples in one pass. The projection needs
// no rotation and no encoding, its factors are integers; blocks are filled by masks alone
// (docs/design.md, "Filling a block"). Templates are those of the compact route: they share
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

// The client's half: samples of one modality by coordinates.
class SimdColumns {
 public:
  // Rows have their length as EncodeCompact says. kInvalidArgument for none or more than n/2 of
  // them, and, naming the row, for a wrong dimension, NaN, infinity or a zero vector.
  static absl::StatusOr<SimdColumns> Create(const Instance& instance, const Model& model,
                                            size_t index, std::span<const std::vector<double>> rows,
                                            VectorLength length = VectorLength::kAny);

  uint32_t dimension() const { return static_cast<uint32_t>(columns_.size()); }
  // Coordinate d of every sample, sample j in slot j, as the client encrypts it.
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
  // After SplitBatch: the odd halves, where `coordinates` are the even ones.
  std::vector<ckks::Ciphertext> odd;
  // By sample: those that AddBatchToBlock leaves out. Empty: none.
  std::vector<bool> left_out;

  bool Joins(uint32_t sample) const { return left_out.empty() || !left_out[sample]; }
};

// The server's half, for one batch: add every coordinate of the modalities that there are, then
// finish. All threads; results do not depend on their number.
class BulkFuser {
 public:
  // `keys` must outlive the fuser; kFailedPrecondition where they lack the relinearisation key.
  static absl::StatusOr<BulkFuser> Create(const Instance& instance, const Model& model,
                                          const ckks::EvaluationKeys* keys);

  // Coordinates [first, first + columns.size()) of a modality, each once, in any order and number:
  // fresh ciphertexts of SimdColumns' plaintexts. On error the sums are as before.
  absl::Status Add(size_t modality, uint32_t first, std::span<const ckks::Ciphertext> columns);

  // The templates of `count` samples, n/2 at most. A modality of which nothing was added counts as
  // the zero vector; kInvalidArgument where some coordinates are missing or all are.
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

// Rotates a batch such that sample 0 stands in slot `first`, with the keys of the plan only.
absl::Status MoveBatch(const Instance& instance, TemplateBatch* batch, uint32_t first,
                       const ckks::EvaluationKeys& keys);

// SplitBatch: a batch of the enrolment ring, moved to where it belongs, into the matching ring:
// both halves of each coordinate (ckks/ring_switch.h), of which AddBatchToBlock's masks make either
// half of the slots. One ring: nothing to do.
absl::Status SplitBatch(const Rings& rings, const ckks::SwitchKey& ring_switch,
                        TemplateBatch* batch);

// Adds the samples in slots [slot, slot + count) of `batch`, but those that it leaves out, to the
// same slots of one lane of a block, which hold no template yet; after SplitBatch the batch has
// twice a block's slots, the block is filled at `slot` modulo its own, and the range lies in one
// half: G_k = sum over e of mask_e C_((e + k) mod gamma), mask_e being one in the slots j = e (mod
// gamma) of the range. A mask that is zero costs nothing, so the time grows with the samples, up to
// gamma of them. Each sum is rotated back by GiantSteps(k) slots. On error the block is unchanged;
// kFailedPrecondition where a key is missing.
absl::Status AddBatchToBlock(const Instance& instance, TiledCiphertexts* block,
                             const TemplateBatch& batch, uint32_t slot, uint32_t count,
                             uint32_t lane, const ckks::EvaluationKeys& keys);

}  // namespace heft

#endif  // HEFT_FUSION_BULK_H_
