// SPDX-License-Identifier: Apache-2.0
// Enrolment of all pairs of a class from separately encrypted sets (paper, section "Protocols").
// The projection is linear: each sample is projected once, and a pair costs one addition and a
// normalisation: a + b projections instead of a b.
#ifndef HEFT_FUSION_ALL_PAIRS_H_
#define HEFT_FUSION_ALL_PAIRS_H_

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "fusion/fuser.h"

namespace heft {

// The projection of one sample of modality `index`, as if the others were zero. Errors as
// Fuser::Project.
absl::StatusOr<ckks::Ciphertext> ProjectAlone(const Fuser& fuser, size_t index,
                                              const ckks::Ciphertext& sample);

// The sum of projections of single samples, normalised: what Fuser::Fuse makes of the samples, but
// for noise. kInvalidArgument for no projection.
absl::StatusOr<Normalised> FuseProjected(const Fuser& fuser,
                                         std::span<const ckks::Ciphertext* const> projected);

// sets[m]: the samples of modality m of one class, fresh ciphertexts of EncodeCompact's plaintexts;
// every set has one or more. Calls `use` with the fused template of every combination of one sample
// a modality, in lexicographic order of their indices, the last fastest, one at a time: few classes
// fit into memory whole. Stops at the first error, also `use`'s.
absl::Status FuseAllPairs(
    const Fuser& fuser, std::span<const std::vector<ckks::Ciphertext>> sets,
    const std::function<absl::Status(std::span<const size_t> indices, Normalised fused)>& use);

}  // namespace heft

#endif  // HEFT_FUSION_ALL_PAIRS_H_
