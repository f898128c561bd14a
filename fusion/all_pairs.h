// SPDX-License-Identifier: Apache-2.0
// Enrolment of all pairs of a class from separately encrypted sets (paper, section "Protocols").
// The projection is linear: each sample is projected once, and a pair costs one addition and a
// normalisation, a + b projections instead of a b.
#ifndef HEFT_FUSION_ALL_PAIRS_H_
#define HEFT_FUSION_ALL_PAIRS_H_

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "fusion/fuser.h"

namespace heft {

// sets[m]: the samples of modality m of one class, fresh ciphertexts of EncodeCompact's plaintexts;
// an empty set where the class has none of that modality. Calls `use` with the fused template of
// every combination of one sample a modality, in lexicographic order of their indices, the last
// fastest, one at a time: few classes fit in memory whole. Stops at the first error, also `use`'s.
absl::Status FuseAllPairs(
    const Fuser& fuser, std::span<const std::vector<ckks::Ciphertext>> sets,
    const std::function<absl::Status(std::span<const size_t> indices, Normalised fused)>& use);

}  // namespace heft

#endif  // HEFT_FUSION_ALL_PAIRS_H_
