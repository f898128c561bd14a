// SPDX-License-Identifier: Apache-2.0
// Unlinkability of protected templates (ISO/IEC 24745, 30136): the measure of M. Gomez-Barrero,
// J. Galbally, C. Rathgeb and C. Busch, General framework to evaluate unlinkability in biometric
// template protection systems, IEEE TIFS 13(6), 2018.
//
// A linkage score compares two templates of different keys. Where a score s is likelier for two of
// one person than for two of different people, it links: D(s) = 2 LR / (1 + LR) - 1 for a
// likelihood ratio LR above 1 (prior odds omega = 1), and 0 otherwise. D_sys is its mean over the
// scores of one person's pairs: 0 if no pair can be told, 1 if every pair can.
#ifndef HEFT_EVALUATION_UNLINKABILITY_H_
#define HEFT_EVALUATION_UNLINKABILITY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "features/matrix.h"

namespace heft {

// LinkPoint: one bin of scores: its middle, the share of both kinds of pairs in it, D there.
struct LinkPoint {
  double score = 0, mated = 0, non_mated = 0, linkability = 0;
};

struct Unlinkability {
  double d_sys = 0;
  std::vector<LinkPoint> curve;
};

// MeasureUnlinkability: by histograms of equal bins over all scores, one for ten mated pairs and at
// most 100, as the authors' programs have them. Scores that are all the same link nothing.
// kInvalidArgument where there are none of a kind, or one is not finite.
absl::StatusOr<Unlinkability> MeasureUnlinkability(std::span<const double> mated,
                                                   std::span<const double> non_mated);

// PairKind: of template a under one key and b under the other.
enum class PairKind { kMated, kNonMated, kNeither };
using PairKinds = std::function<PairKind(int a, int b)>;

// Linkage: D_sys of scores [a][b], and its value if there were no linkage, because histograms of
// few pairs are never quite alike. `chance`: mean over `shuffles` of the second key's templates;
// `chance_hi`: their 97.5th percentile. D_sys below that shows no linkage.
struct Linkage {
  Unlinkability found;
  double chance = 0, chance_hi = 0;
};
absl::StatusOr<Linkage> MeasureLinkage(const FeatureMatrix& scores, const PairKinds& kinds,
                                       int shuffles, uint64_t seed);

// ---- Irreversibility: an attacker computes feature vectors from templates in the clear, and
// learns from such pairs of other people: linear regression, shrunken a little.

// Inversion: mean cosine of the guess with the true vector, and of a guess without a template, the
// mean of the known vectors.
struct Inversion {
  double cosine = 0, blind = 0;
};
// `known_templates`, `known_vectors`: a row for each sample of the attacker's people; the others
// are of its targets. kInvalidArgument where sizes do not fit or no person is known.
absl::StatusOr<Inversion> InvertTemplates(const FeatureMatrix& known_templates,
                                          const FeatureMatrix& known_vectors,
                                          const FeatureMatrix& templates,
                                          const FeatureMatrix& vectors);

}  // namespace heft

#endif  // HEFT_EVALUATION_UNLINKABILITY_H_
