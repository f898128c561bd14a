// SPDX-License-Identifier: Apache-2.0
// How much scores and decisions give away of a template: the attacks by which the key owner's
// budget is measured (docs/security-proofs.md, "What scores reveal"). The attacker sends whatever
// vectors it likes as probes, knows them, has templates of people of its own, and wants a vector
// that is accepted as the target.
#ifndef HEFT_EVALUATION_RECOVERY_H_
#define HEFT_EVALUATION_RECOVERY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "features/matrix.h"

namespace heft {

// Population: templates of length 1, a row each, of the attacker's people and of its targets. A
// target may have several, in adjacent rows: the best of their scores is published.
struct Population {
  FeatureMatrix known, targets;
  int templates = 1;  // of each target
};

// Recovery: after so many answers, over all targets.
struct Recovery {
  int answers = 0;
  double cosine = 0;             // of the best guess with the target's nearest template, mean
  std::vector<double> accepted;  // share of targets for which it reaches each threshold
};

// Probes: kChosen: the directions along which people differ most, one after the other. kStrangers:
// templates of the attacker's own people, in random order.
enum class Probes { kChosen, kStrangers };

// kPublishedStep: of the scores that a key owner publishes.
inline constexpr double kPublishedStep = 1e-3;
// RecoverFromScores: from scores in steps of `step`, 0 for exact ones. The attacker believes that
// targets are distributed as its own people are (evaluation/belief.h), and guesses in two ways: the
// mean of its belief after the scores, and the vector that is most likely to be accepted. For each
// number of answers and threshold the way that is accepted more often counts; `cosine` is that of
// the mean. Of several templates it takes the best score for the score of all. 0 answers: what the
// attacker's people alone tell. kInvalidArgument where dimensions differ or people are missing.
absl::StatusOr<std::vector<Recovery>> RecoverFromScores(const Population& people, Probes probes,
                                                        std::span<const int> answers,
                                                        std::span<const double> thresholds,
                                                        uint64_t seed,
                                                        double step = kPublishedStep);

// GuessEffort: from how many candidates guesses are chosen: 3,000, or 800 in a tenth of the time.
enum class GuessEffort { kThorough, kQuick };
// RecoverFromDecisions: at one threshold, of targets with one template each. Until one is accepted,
// the attacker sends the vectors that are accepted for most of its people, wolves among them
// (evaluation/wolves.h). People that accept an earlier vector no longer count. Then the attacker
// finds out angle by angle where acceptance ends.
absl::StatusOr<std::vector<Recovery>> RecoverFromDecisions(
    const Population& people, std::span<const int> answers, double threshold, uint64_t seed,
    GuessEffort effort = GuessEffort::kThorough);

// ImpostorThreshold: the least at which a share `fmr` of comparisons between a target and one of
// the attacker's people is accepted.
double ImpostorThreshold(const Population& people, double fmr);

}  // namespace heft

#endif  // HEFT_EVALUATION_RECOVERY_H_
