// SPDX-License-Identifier: Apache-2.0
// A synthetic data set of the form of real ones, for demonstrations without real data.
#ifndef HEFT_FEATURES_SYNTHETIC_H_
#define HEFT_FEATURES_SYNTHETIC_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "features/dataset.h"

namespace heft {

// SyntheticOptions: a sample of a modality is
//
//   x = A (u + jitter * w) + within * B v + noise * e,
//
// u ~ N(0, I) of the identity, w, v ~ N(0, I) of the sample, A and B random dimension x rank
// matrices of unit columns (rank_identity and rank_within of them), e ~ N(0, I / dimension).
// Variation within an identity that is of low rank (within) is what a learned projection can
// remove and a fixed concatenation cannot; jitter is what nobody can remove. The defaults give
// cosine AUROCs near those of the paper's table 2 on 512 + 512 dimensions: about 0.84 and 0.855
// alone, 0.92 concatenated, 0.98 learned.
struct SyntheticOptions {
  int identities = 188;
  int samples_per_identity = 8;
  std::vector<int> dimensions = {512, 512};
  // Per modality; the last entry is used for further modalities.
  std::vector<double> jitter = {1.0, 1.0};
  std::vector<double> within = {1.15, 1.07};
  std::vector<double> noise = {1.5, 1.5};
  int rank_identity = 16;
  int rank_within = 32;
  // Samples of each modality in all, spread evenly over the identities. If not empty, an identity's
  // rows are all combinations of its samples (the paper pairs 2 faces with each voice), and the
  // samples themselves are in `unpaired`; samples_per_identity counts for nothing.
  std::vector<int> all_pairs_of;
  uint64_t seed = 1;
};

// PaperSize: 188 identities with 376 faces and 5,380 voices in 10,760 pairs (paper, section
// "Evaluation Datasets"), and statistics that give, over identity folds, AUROCs near those of its
// table 2.
SyntheticOptions PaperSize();

// Modalities are named face, voice, then modality3, ...; identities are numbered; the split is
// 60/20/20 by identity. kInvalidArgument for counts below 1 (identities below 3), negative or
// non-finite noise, or no dimension; for all_pairs_of also unless it has an entry a modality, each
// at least `identities`.
absl::StatusOr<Dataset> SynthesiseDataset(const SyntheticOptions& options);

}  // namespace heft

#endif  // HEFT_FEATURES_SYNTHETIC_H_
