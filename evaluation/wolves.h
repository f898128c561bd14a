// SPDX-License-Identifier: Apache-2.0
// Wolves: probes that match many people. The wolf attack probability (M. Une, A. Otsuka and H.
// Imai, Wolf attack probability: a new security measure in biometric authentication systems, ICB
// 2007) is the largest rate at which one probe is accepted by people's templates. Here the attacker
// learns wolves from templates that it knows, and they are measured on people that it does not
// know.
#ifndef HEFT_EVALUATION_WOLVES_H_
#define HEFT_EVALUATION_WOLVES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/matrix.h"
#include "heft/decisions.h"

namespace heft {

// AttackedFold: templates of length 1, a row each: of people that the attacker knows, and of
// others. `people` numbers the identity of each target's row.
struct AttackedFold {
  FeatureMatrix known, targets;
  std::vector<int> people;
};

// LearnWolves: unit vectors, a row each, that are meant to be accepted by as many of `known` as
// possible at `threshold`, by kWolves different ways of learning: the vector that is most likely to
// be accepted if templates are Gaussian (evaluation/belief.h), and local maxima of the number of
// acceptances, smoothed to three different widths. The result depends on the arguments alone.
inline constexpr int kWolves = 4;
FeatureMatrix LearnWolves(const FeatureMatrix& known, double threshold);

// WolfScores: of one way of learning, at one threshold: of a fold's wolf with each target of that
// fold, all folds in order.
struct WolfScores {
  double learned_at = 0;
  std::vector<double> scores;
};
// Wolves: of all ways and thresholds. Targets of all folds are rows in order, `people` numbers
// their identities through the folds.
struct Wolves {
  std::vector<int> people;
  std::vector<WolfScores> packs;

  int People() const;
  // The share of targets that accept a wolf at `threshold`, of the most successful pack.
  double AcceptedAt(double threshold) const;
  // AcceptedIn: the same, with the 95% interval of that pack for resampled people.
  Estimate AcceptedIn(double threshold, uint64_t seed) const;
  // The share of searches of `people` people, with one template each, in which the most successful
  // pack reaches `threshold` with at least one of them.
  double NamedAt(double threshold, double people) const;
  // The least threshold at which no pack is accepted by more than a share `rate` of the targets,
  // by each pack's tail where the rate is rarer than its comparisons show.
  double ThresholdFor(double rate) const;
};

// MeasureWolves: learned at each of `thresholds`. kInvalidArgument where no person is known or
// attacked, or dimensions differ.
absl::StatusOr<Wolves> MeasureWolves(std::span<const AttackedFold> folds,
                                     std::span<const double> thresholds);

// AgainstWolves: a curve whose thresholds keep the wolves' acceptance at each point's rate too.
// `fnmr` becomes that of `genuine` scores at the new threshold; the interval becomes that of the
// wolves, of resampled people.
std::vector<DecisionThreshold> AgainstWolves(std::vector<DecisionThreshold> curve,
                                             const Wolves& wolves, std::span<const double> genuine,
                                             uint64_t seed);

// AgainstWolves: of searches: the tail of the most successful pack's scores with people who have
// each `search.templates` templates takes the place of strangers'. All wolves' searches are alike.
// Unchanged where fewer than kFewestCalibrated have a template.
SearchCalibration AgainstWolves(SearchCalibration search, const Wolves& wolves, uint64_t seed);

}  // namespace heft

#endif  // HEFT_EVALUATION_WOLVES_H_
