// SPDX-License-Identifier: Apache-2.0
// RecoveryFigures: training's measurements of recovering templates from scores and decisions: the
// member "recovery" of a model's training summary (docs/formats.md).
#ifndef HEFT_FUSION_RECOVERY_FIGURES_H_
#define HEFT_FUSION_RECOVERY_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heft/files.h"
#include "heft/model.h"

namespace heft {

// kMaxRecovered: the share of recovered templates that a budget of scores permits to be accepted.
// kRecoveryFmr: the false match rate of the threshold for this.
inline constexpr double kMaxRecovered = 0.01, kRecoveryFmr = 1e-3;

struct RecoveryFigures {
  // Point: after so many answers about a person, the share of people whose threshold accepts the
  // recovered template.
  struct Point {
    uint64_t answers = 0;
    double accepted = 0;
  };
  uint64_t people = 0;                   // who took no part in the training
  std::vector<Point> scores, decisions;  // answers rising
  // Of the share without any answer, for resampled people: what an attacker has who knows only how
  // templates are distributed. No budget makes it smaller, thresholds against wolves do.
  struct Interval {
    double lo = 0, hi = 0;
  };
  std::optional<Interval> unanswered = {};  // 95%

  // Allowed: the largest number of answers up to which every measured share is below
  // kMaxRecovered. A share is counted as if one more person had been accepted, so few people
  // permit nothing.
  uint64_t AllowedScores() const { return Allowed(scores); }
  uint64_t AllowedDecisions() const { return Allowed(decisions); }

  Json ToJson() const;
  // Describe: some of the shares, in words.
  std::string Describe() const;

 private:
  uint64_t Allowed(const std::vector<Point>& points) const;
};

// FiguresOf: from a model's training summary; empty if it has none that can be read.
std::optional<RecoveryFigures> FiguresOf(const Json& training_summary);
std::optional<RecoveryFigures> FiguresOf(const Model& model);

}  // namespace heft

#endif  // HEFT_FUSION_RECOVERY_FIGURES_H_
