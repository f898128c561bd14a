// SPDX-License-Identifier: Apache-2.0
// What a score means: thresholds for one comparison and for a search, and evidence. Rates are those
// of ISO/IEC 19795-1; docs/decisions.md says which of them answers which question. Plain numbers
// that a model carries; calls are cheap.
#ifndef HEFT_DECISIONS_H_
#define HEFT_DECISIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"

namespace heft {

// RateInterval: where a rate lies with 95% confidence, found by resampling people.
struct RateInterval {
  double lo = 0, hi = 1;  // 0 and 1: nothing is known
  bool operator==(const RateInterval&) const = default;
};

// kFalseMatchesNeeded: a threshold for a false match rate is to be relied on where the comparisons
// that it was fitted on allow so many false matches, the rule of 30 (G. R. Doddington et al., The
// NIST speaker recognition evaluation, Speech Communication 31, 2000): the true rate is then within
// 30% of the wanted one with 90% confidence, if comparisons were independent.
inline constexpr double kFalseMatchesNeeded = 30;

// DecisionThreshold: a point of a model's curve for one comparison, 1:1, fitted on people who took
// no part in its training.
struct DecisionThreshold {
  double fmr = 0;               // false match rate that it was fitted for, in (0, 1)
  double score = 0;             // accept at this cosine score or above
  double fnmr = 0;              // false non-match rate seen there
  uint64_t impostor_pairs = 0;  // comparisons that it rests on
  RateInterval interval = {};   // of the false match rate at `score`

  bool Supported() const {
    return fmr * static_cast<double>(impostor_pairs) >= kFalseMatchesNeeded;
  }
  bool operator==(const DecisionThreshold&) const = default;
};

// ScoreCalibration: slope * score + intercept estimates the natural logarithm of the likelihood
// ratio P(score | genuine) / P(score | impostor). Logistic regression, both kinds weighted alike,
// as in N. Bruemmer and J. du Preez, Application-independent evaluation of speaker detection,
// 2006.
struct ScoreCalibration {
  double slope = 0.0;
  double intercept = 0.0;
  double LogLikelihoodRatio(double score) const { return slope * score + intercept; }
  bool operator==(const ScoreCalibration&) const = default;
};

// ImpostorTail: how often a stranger's best score against one enrolled person reaches a threshold.
// In depths, -log(1 - score^2), those beyond `start` follow a generalised Pareto distribution (J.
// Pickands, Statistical inference using extreme order statistics, Annals of Statistics 3, 1975).
// How many of a stranger's scores get there differs between strangers, which is why FPIR is not
// 1 - (1 - FMR)^N: their rates are log-normal, the more uneven, the higher the threshold.
struct HEFT_EXPORT ImpostorTail {
  double start = 0;     // scores from here on
  double rate = 0;      // of them: the share of comparisons that reach `start`, in (0, 1]
  double scale = 0;     // of the generalised Pareto distribution above it, > 0
  double shape = 0;     // below 1; 0: exponential; negative: scores have an upper end
  double evenness = 0;  // squared mean over variance of their rates at `start`, > 0

  // The share of comparisons that reach `threshold`, at least `start`.
  double RateAt(double threshold) const;
  // The probability that a stranger's search of `people` names somebody: over strangers the mean of
  // 1 - exp(-people * rate).
  double Fpir(double threshold, double people) const;
  // The threshold at which that is `fpir`; `start` where it is reached there already.
  double ThresholdFor(double fpir, double people) const;
  bool operator==(const ImpostorTail&) const = default;
};

// SearchCalibration: a tail, the same for resampled people, and what it rests on.
struct SearchCalibration {
  uint32_t templates = 1;    // a person, in the gallery
  uint64_t people = 0;       // that it was fitted on
  uint64_t comparisons = 0;  // of a stranger with a person
  ImpostorTail tail = {};
  std::vector<ImpostorTail> replicates = {};
  bool operator==(const SearchCalibration&) const = default;
};

// DecisionTable: what scores mean of probes that have just these modalities, against templates that
// have all of them. A probe with fewer modalities scores lower, so each set has a table.
struct DecisionTable {
  uint32_t modalities = 0;                         // bit i: the probe has Model::modalities[i]
  std::vector<DecisionThreshold> thresholds = {};  // for one comparison, fmr falling
  std::vector<SearchCalibration> searches = {};    // for a search; templates rising
  std::optional<ScoreCalibration> calibration = {};
  bool operator==(const DecisionTable&) const = default;
};

// RateOf: what a rate is a share of: of comparisons (FMR), of searches (FPIR), or of nothing, where
// a threshold is from elsewhere.
enum class RateOf : uint8_t { kNothing, kComparisons, kSearches };

// ChosenThreshold: accept at `score` or above.
struct ChosenThreshold {
  double score = 0;
  RateOf of = RateOf::kNothing;  // no decision is made of a search by a rate of comparisons
  double rate = 0;               // asked for
  RateInterval interval = {};    // of that rate on new people
  std::string warning = {};      // why it should not be relied on; empty if it may be
};

// ChooseThreshold: for a false match rate, between the points of a curve by the logarithm of the
// rate. kInvalidArgument for a rate outside (0, 1) and a curve without points; kOutOfRange, with
// the rates that there are, beyond its points.
HEFT_EXPORT absl::StatusOr<ChosenThreshold> ChooseThreshold(
    std::span<const DecisionThreshold> curve, double fmr);

// kFarthest: how much rarer than one of the comparisons that were seen what is asked for may be.
inline constexpr double kFarthest = 30;
// ChooseSearchThreshold: for a false positive identification rate in a gallery of `people` with at
// most `templates` each. kInvalidArgument for a rate outside (0, 1), nobody, or no calibration;
// kOutOfRange, with what the data allow, for more templates than any calibration has, and where it
// lies farther beyond its comparisons than kFarthest.
HEFT_EXPORT absl::StatusOr<ChosenThreshold> ChooseSearchThreshold(
    std::span<const SearchCalibration> searches, double fpir, uint64_t people,
    uint32_t templates = 1);

}  // namespace heft

#endif  // HEFT_DECISIONS_H_
