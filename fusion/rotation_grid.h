// SPDX-License-Identifier: Apache-2.0
// RotationGrid: the rotations of one ciphertext by 0 ... count - 1 slots in two steps, a giant one
// and a baby one: rot(x, babies * j + i) = rot(rot(x, babies * j), i). The giants share one
// decomposition, and so do the babies of each giant. The number of key switches is the same, but
// only babies + giants - 2 different keys are made, sent, stored and read (docs/design.md, "Two
// levels of hoisting").
#ifndef HEFT_FUSION_ROTATION_GRID_H_
#define HEFT_FUSION_ROTATION_GRID_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ckks/params.h"
#include "fusion/key_needs.h"

namespace heft {

// RotationGrid: powers of two; 0: no rotations.
struct RotationGrid {
  uint32_t babies = 0;
  uint32_t giants = 0;

  uint32_t count() const { return babies * giants; }
  // BabyElements: rotations by 0 ... babies - 1 slots. GiantElements: by 0, babies, 2 babies ...
  std::vector<uint32_t> BabyElements(const ckks::Params& params) const;
  std::vector<uint32_t> GiantElements(const ckks::Params& params) const;
  // AddNeeds: adds the keys of both, for ciphertexts of `limbs` limbs.
  void AddNeeds(const ckks::Params& params, size_t limbs, KeyNeeds* needs) const;
};

// MatchingGrid: for `count` rotations of a probe, a power of two, if each rotation is needed.
RotationGrid MatchingGrid(const ckks::Params& params, uint32_t count);

// ProductGrid: for `count` rotations, if only `sums` sums of their products with plaintexts are
// needed. Giants then rotate partial sums. `limbs`: of the rotated ciphertext. `have`: keys that
// are needed anyway. `absent`: primes that this plan's chain lacks, but the chains of other plans
// for the same keys have. The grid is the same for all of these plans.
RotationGrid ProductGrid(const ckks::Params& params, uint32_t count, size_t sums, size_t limbs,
                         const KeyNeeds& have, size_t absent);

}  // namespace heft

#endif  // HEFT_FUSION_ROTATION_GRID_H_
