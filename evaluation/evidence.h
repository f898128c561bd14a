// SPDX-License-Identifier: Apache-2.0
// How good log-likelihood ratios are (N. Bruemmer and J. du Preez, Application-independent
// evaluation of speaker detection, Computer Speech and Language 20, 2006). Cllr is the mean cost,
// in bits, of a comparison for a reader that trusts the ratios, with both kinds weighing alike. 0
// is perfect; 1 is the cost without any score. Its minimum is the cost with the best rising map
// from scores to evidence, which the pool adjacent violators algorithm finds. The rest of Cllr is
// lost in calibration. All inputs are natural logarithms.
#ifndef HEFT_EVALUATION_EVIDENCE_H_
#define HEFT_EVALUATION_EVIDENCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/comparisons.h"
#include "heft/decisions.h"

namespace heft {

// EvidenceBin: comparisons of about the same evidence. `observed` is the logarithm of their genuine
// share over their impostor share, each kind over all of its comparisons: what the evidence should
// have been. Infinite where one kind is missing.
struct EvidenceBin {
  double stated = 0;  // mean of the log-likelihood ratios
  double observed = 0;
  double lo = 0, hi = 0;  // 95% interval of `observed`, of resampled people
  uint64_t genuine = 0, impostor = 0;
};

// EvidenceQuality: costs in bits. `loss` is cllr less its minimum.
struct EvidenceQuality {
  Estimate cllr, minimum, loss;
  std::vector<EvidenceBin> reliability;  // rising; of equal width in log-likelihood ratio
};

// MeasureEvidence: of log-likelihood ratios, pooled over the sets (bootstrap.h). kInvalidArgument
// for PairScores's reasons, ratios that are not finite, or options out of range.
absl::StatusOr<EvidenceQuality> MeasureEvidence(std::span<const LabelledScores> ratios,
                                                const BootstrapOptions& options = {});
absl::StatusOr<EvidenceQuality> MeasureEvidence(std::span<const Comparisons> ratios,
                                                const BootstrapOptions& options = {});

// Cllr and MinimumCllr: of single comparisons; the minimum of any scores. Verify's errors.
absl::StatusOr<double> Cllr(const ScoreSet& ratios);
absl::StatusOr<double> MinimumCllr(const ScoreSet& scores);

}  // namespace heft

#endif  // HEFT_EVALUATION_EVIDENCE_H_
