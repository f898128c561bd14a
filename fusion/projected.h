// SPDX-License-Identifier: Apache-2.0
// What clients project themselves, for profiles of two rings: vectors of gamma values, of one
// modality in part or of all fused, encrypted in every slot, and the server's way with them.
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

// FoldedCopies: what the projection's folds add up, conjugates included.
double FoldedCopies(const Instance& instance);
// ProjectedScale: at which a client encrypts what it has projected, in the given ring.
double ProjectedScale(const Instance& instance, SampleUse use);

// SumProjected: the sum of what clients have projected, pointers as Fuser::Project's.
// kInvalidArgument unless each has the limbs and the scale of such a vector for that use.
absl::StatusOr<ckks::Ciphertext> SumProjected(const Instance& instance, SampleUse use,
                                              std::span<const ckks::Ciphertext* const> modalities);
// FoldFused: the template that a client has fused for enrolment, summed over the groups of slots,
// so that it repeats whatever the client has sent: as ToMatchingRing's. `keys` are the matching
// ring's.
absl::StatusOr<ckks::Ciphertext> FoldFused(const Instance& matching, const ckks::Ciphertext& sample,
                                           const ckks::EvaluationKeys& keys);

// ProjectRows: each row of modality `index`, normalised, times the model's projection: gamma
// values. FuseRows: the same, summed over the modalities that are there (empty: missing) and
// normalised exactly. kInvalidArgument, with the row, as EncodeCompact, and for a sum that is zero.
absl::StatusOr<std::vector<std::vector<double>>> ProjectRows(
    const Model& model, size_t index, std::span<const std::vector<double>> rows,
    VectorLength length = VectorLength::kAny);
absl::StatusOr<std::vector<std::vector<double>>> FuseRows(
    const Model& model, std::span<const std::vector<std::vector<double>>> modalities,
    VectorLength length = VectorLength::kAny);

// EncodeProjected: `z`, gamma values, in all slots, at ProjectedScale. For enrolment the server
// folds over the groups of slots before anything else, so that what it enrols repeats: the scale
// makes up for the sum.
absl::StatusOr<ckks::Plaintext> EncodeProjected(const Instance& instance, SampleUse use,
                                                std::span<const double> z);

}  // namespace heft

#endif  // HEFT_FUSION_PROJECTED_H_
