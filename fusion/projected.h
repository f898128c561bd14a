// SPDX-License-Identifier: Apache-2.0
// Vectors that clients project themselves, for profiles of two rings: gamma values, partial for one
// modality or fused from all, encrypted in every slot, and the server's processing of them.
#ifndef HEFT_FUSION_PROJECTED_H_
#define HEFT_FUSION_PROJECTED_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "fusion/compact.h"
#include "fusion/plan.h"
#include "heft/client.h"
#include "heft/model.h"

namespace heft {

// FoldedCopies: the number of terms that the projection's folds add, conjugates included.
double FoldedCopies(const Instance& instance);
// ProjectedScale: the scale at which a client encrypts its projected vector in the given ring.
double ProjectedScale(const Instance& instance, SampleUse use);

// SumProjected: the sum of clients' projected vectors, with pointers as in Fuser::Project.
// kInvalidArgument unless each has the limbs and the scale for that use.
absl::StatusOr<ckks::Ciphertext> SumProjected(const Instance& instance, SampleUse use,
                                              std::span<const ckks::Ciphertext* const> modalities);
// FoldFused: a client's fused template for enrolment, summed over the groups of slots, so that it
// is the same in every group whatever the client sent. The result is as ToMatchingRing's. `keys`
// are the matching ring's.
absl::StatusOr<ckks::Ciphertext> FoldFused(const Instance& matching, const ckks::Ciphertext& sample,
                                           const ckks::EvaluationKeys& keys);

// ProjectRows: each row of modality `index`, normalised, times the model's projection: gamma
// values. SumRows: the same, summed over the present modalities (empty: missing). FuseRows: those
// sums, normalised exactly. kInvalidArgument, with the row, as EncodeCompact, and for a sum that is
// zero.
absl::StatusOr<std::vector<std::vector<double>>> ProjectRows(
    const Model& model, size_t index, std::span<const std::vector<double>> rows,
    VectorLength length = VectorLength::kAny);
absl::StatusOr<std::vector<std::vector<double>>> SumRows(
    const Model& model, std::span<const std::vector<std::vector<double>>> modalities,
    VectorLength length = VectorLength::kAny);
absl::StatusOr<std::vector<std::vector<double>>> FuseRows(
    const Model& model, std::span<const std::vector<std::vector<double>>> modalities,
    VectorLength length = VectorLength::kAny);

// EncodeProjected: `z`, gamma values, in all slots, at ProjectedScale. For enrolment the server
// first folds over the groups of slots, so that its value is the same in every group; the scale
// compensates for the sum.
absl::StatusOr<ckks::Plaintext> EncodeProjected(const Instance& instance, SampleUse use,
                                                std::span<const double> z);

}  // namespace heft

#endif  // HEFT_FUSION_PROJECTED_H_
