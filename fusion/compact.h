// SPDX-License-Identifier: Apache-2.0
// EncodeCompact: the compact encoding (docs/design.md): a modality is in one ciphertext's real or
// imaginary part with each run of values repeated. So the projection needs few rotations, and its
// result repeats over all slots.
#ifndef HEFT_FUSION_COMPACT_H_
#define HEFT_FUSION_COMPACT_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft {

// The slots of one modality's vector: v[run * floor(t / gamma) + t mod run], zero after the end.
std::vector<double> CompactSlots(std::span<const double> vector, uint32_t run, uint32_t gamma,
                                 uint32_t slots);

// VectorLength: whether EncodeCompact scales the vector. kAny: to length 1. kMean: not at all,
// because a mean of several vectors already has its length (fusion/mean.h).
enum class VectorLength { kAny, kMean };

// The plaintext of modality `index`, for the client to encrypt. kInvalidArgument for a wrong
// dimension, NaN, infinity or a zero vector.
absl::StatusOr<ckks::Plaintext> EncodeCompact(const Instance& instance, const Model& model,
                                              size_t index, std::span<const double> vector,
                                              VectorLength length = VectorLength::kAny);

// The projection's factors A_0 ... A_(run-1) of one pair, as extended plaintexts, `times` the
// model's factors. The factor of baby i and giant j of the pair's grid is A_(babies j + i), rotated
// back by the giant.
absl::StatusOr<std::vector<ckks::Plaintext>> EncodeCompactFactors(const Instance& instance,
                                                                  const Model& model,
                                                                  const PackedPair& pair,
                                                                  double times = 1);

// FactorNoise: the noise of a pair's factors that affects z. Its message is their root mean square
// over the slots that a coordinate sums, in the row of the projection with the largest one.
ckks::Noise FactorNoise(const ckks::Params& params, const Model& model, const FusionPlan& plan,
                        const PackedPair& pair);

// AtRow: adds the row to the error of one of several rows.
absl::Status AtRow(const absl::Status& status, size_t row);

// `vector` divided by its Euclidean norm, or unchanged; EncodeCompact's errors.
absl::StatusOr<std::vector<double>> NormalisedVector(std::span<const double> vector,
                                                     const ModalitySpec& modality,
                                                     VectorLength length = VectorLength::kAny);

}  // namespace heft

#endif  // HEFT_FUSION_COMPACT_H_
