// SPDX-License-Identifier: Apache-2.0
// EncodeCompact: the compact encoding (docs/design.md): a modality stands in one ciphertext's real
// or imaginary part with each run of values repeated, so that the projection needs few rotations
// and its result repeats over all slots.
#ifndef HEFT_FUSION_COMPACT_H_
#define HEFT_FUSION_COMPACT_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "fusion/plan.h"
#include "heft/model.h"

namespace heft {

// The slots of one modality's vector: v[run * floor(t / gamma) + t mod run], zero past the end.
std::vector<double> CompactSlots(std::span<const double> vector, uint32_t run, uint32_t gamma,
                                 uint32_t slots);

// VectorLength: of a vector that is to be encoded. kAny: it is brought to length 1 here. kMean: it
// is a mean of several, which has the length that it needs (fusion/mean.h).
enum class VectorLength { kAny, kMean };

// The plaintext of modality `index`, as the client encrypts it. kInvalidArgument for a wrong
// dimension, NaN, infinity or a zero vector.
absl::StatusOr<ckks::Plaintext> EncodeCompact(const Instance& instance, const Model& model,
                                              size_t index, std::span<const double> vector,
                                              VectorLength length = VectorLength::kAny);

// The projection's factors A_0 ... A_(run-1) of one pair, extended plaintexts; all of them `times`
// the model's. That of baby i and giant j of the pair's grid is A_(babies j + i), rotated back by
// the giant.
absl::StatusOr<std::vector<ckks::Plaintext>> EncodeCompactFactors(const Instance& instance,
                                                                  const Model& model,
                                                                  const PackedPair& pair,
                                                                  double times = 1);

// FactorNoise: of a pair's factors, as far as it counts for z. Its message is their root mean
// square in the row of the projection where that is largest, over the slots that a coordinate sums.
ckks::Noise FactorNoise(const ckks::Params& params, const Model& model, const FusionPlan& plan,
                        const PackedPair& pair);

// AtRow: an error of one of several rows, with the row.
absl::Status AtRow(const absl::Status& status, size_t row);

// `vector` divided by its Euclidean norm, or as it is; EncodeCompact's errors.
absl::StatusOr<std::vector<double>> NormalisedVector(std::span<const double> vector,
                                                     const ModalitySpec& modality,
                                                     VectorLength length = VectorLength::kAny);

}  // namespace heft

#endif  // HEFT_FUSION_COMPACT_H_
