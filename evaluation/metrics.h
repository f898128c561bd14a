// SPDX-License-Identifier: Apache-2.0
// Verification metrics. Everywhere a score is a similarity and a comparison is accepted when its
// score is at least the threshold. FMR is the share of impostor comparisons accepted (the false
// match rate), TMR = 1 - FNMR that of genuine ones (ISO/IEC 19795).
#ifndef HEFT_EVALUATION_METRICS_H_
#define HEFT_EVALUATION_METRICS_H_

#include <span>
#include <vector>

#include "base/status.h"
#include "features/matrix.h"

namespace heft {

// ScoreSet: scores of comparisons within an identity and between two.
struct ScoreSet {
  std::vector<double> genuine;
  std::vector<double> impostor;
};

// PairScores: all unordered pairs i < j of the samples; scores[i][j] is read, `identities` has a
// number for each sample. kInvalidArgument if the matrix is not square of that size, holds NaN, or
// there is no genuine or no impostor pair.
absl::StatusOr<ScoreSet> PairScores(const FeatureMatrix& scores, std::span<const int> identities);

struct RocPoint {
  double threshold;
  double fmr;  // in [0, 1]
  double tmr;  // in [0, 1]
};

struct VerificationMetrics {
  double auroc = 0.0;    // exact, by ranks; a tie between genuine and impostor counts half
  double eer = 0.0;      // where FMR = FNMR, linear between the points of the ROC
  double tmr_1e2 = 0.0;  // the highest TMR of any threshold with FMR <= 1e-2
  double tmr_1e3 = 0.0;  // and <= 1e-3; with fewer than 1000 impostor pairs, with FMR = 0
};

// All of these need one genuine and one impostor score at least, else kInvalidArgument.
absl::StatusOr<VerificationMetrics> Verify(const ScoreSet& scores);
absl::StatusOr<double> Auroc(const ScoreSet& scores);

// ShareAccepted: of `scores` those of at least `threshold`, in [0, 1]; 0 of none.
double ShareAccepted(std::span<const double> scores, double threshold);

// Roc: one point a distinct score, thresholds falling, the first point (infinity, 0, 0) and the
// last (lowest score, 1, 1).
absl::StatusOr<std::vector<RocPoint>> Roc(const ScoreSet& scores);

}  // namespace heft

#endif  // HEFT_EVALUATION_METRICS_H_
