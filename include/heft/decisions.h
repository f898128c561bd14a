// SPDX-License-Identifier: Apache-2.0
// The meaning of a score: thresholds for a comparison and for a search, and evidence. Rates are
// those of ISO/IEC 19795-1; docs/decisions.md says which rate answers which question. Models
// contain these values; calls are cheap.
#ifndef HEFT_DECISIONS_H_
#define HEFT_DECISIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"

namespace heft {

// RateInterval: the 95% confidence interval of a rate, by resampling people.
struct RateInterval {
  double lo = 0, hi = 1;  // 0 and 1: nothing is known
  bool operator==(const RateInterval&) const = default;
};

// kFalseMatchesNeeded: a threshold for a false match rate is reliable if the comparisons of its fit
// allow so many false matches, the rule of 30 (G. R. Doddington et al., The NIST speaker
// recognition evaluation, Speech Communication 31, 2000). The true rate is then within 30% of the
// wanted one with 90% confidence, if comparisons are independent.
inline constexpr double kFalseMatchesNeeded = 30;

// kFewestCalibrated: people with two samples or more that thresholds and searches are fitted to.
inline constexpr int kFewestCalibrated = 10;

// DecisionThreshold: a point of a model's curve for one comparison, 1:1, fitted to people who took
// no part in its training.
struct DecisionThreshold {
  double fmr = 0;               // the false match rate that it was fitted for, in (0, 1)
  double score = 0;             // accept this cosine or above
  double fnmr = 0;              // false non-match rate that was measured at the score
  uint64_t impostor_pairs = 0;  // number of comparisons behind it
  RateInterval interval = {};   // the false match rate at the score, with 95% confidence

  bool Supported() const {
    return fmr * static_cast<double>(impostor_pairs) >= kFalseMatchesNeeded;
  }
  bool operator==(const DecisionThreshold&) const = default;
};

// ScoreCalibration: slope * score + intercept estimates the natural logarithm of the likelihood
// ratio P(score | genuine) / P(score | impostor). Logistic regression with equal weights of both
// kinds, as in N. Bruemmer and J. du Preez, Application-independent evaluation of speaker
// detection, 2006.
struct ScoreCalibration {
  double slope = 0.0;      // increase per unit of cosine
  double intercept = 0.0;  // value at cosine 0
  double LogLikelihoodRatio(double score) const { return slope * score + intercept; }
  bool operator==(const ScoreCalibration&) const = default;
};

// ImpostorTail: how often a stranger's best score against one enrolled person reaches a threshold.
// In depths, -log(1 - score^2), scores beyond `start` follow a generalised Pareto distribution (J.
// Pickands, Statistical inference using extreme order statistics, Annals of Statistics 3, 1975).
// The rate of such scores differs between strangers, which is why FPIR is not 1 - (1 - FMR)^N. The
// strangers' rates are log-normal, and more uneven at higher thresholds.
struct HEFT_EXPORT ImpostorTail {
  double start = 0;     // the least score that is modelled
  double rate = 0;      // share of comparisons that reach the start, in (0, 1]
  double scale = 0;     // scale of the distribution above the start, > 0
  double shape = 0;     // shape, below 1; 0: exponential; negative: scores have an upper end
  double evenness = 0;  // squared mean over variance of the strangers' rates at the start, > 0

  // The share of comparisons that reach `threshold`, which is at least `start`.
  double RateAt(double threshold) const;
  // The probability that a stranger's search of `people` returns a name: the mean over strangers of
  // 1 - exp(-people * rate).
  double Fpir(double threshold, double people) const;
  // The threshold at which Fpir is `fpir`; `start` if Fpir is already as low there.
  double ThresholdFor(double fpir, double people) const;
  bool operator==(const ImpostorTail&) const = default;
};

// SearchCalibration: a tail, the tails of resampled people, and the size of the data.
struct SearchCalibration {
  uint32_t templates = 1;                     // templates for each person in the gallery
  uint64_t people = 0;                        // people that it was fitted to
  uint64_t comparisons = 0;                   // comparisons of a stranger with a person
  ImpostorTail tail = {};                     // the fit
  std::vector<ImpostorTail> replicates = {};  // the fits for resampled people
  bool operator==(const SearchCalibration&) const = default;
};

// DecisionTable: the meaning of scores of probes that have exactly these modalities, against
// templates that have all modalities. A probe with fewer modalities scores lower, so each set has
// its own table.
struct DecisionTable {
  uint32_t modalities = 0;                           // bit i: the probe has Model::modalities[i]
  std::vector<DecisionThreshold> thresholds = {};    // thresholds for one comparison, fmr falling
  std::vector<SearchCalibration> searches = {};      // tails for a search, templates rising
  std::optional<ScoreCalibration> calibration = {};  // calibration of scores, if there is one
  bool operator==(const DecisionTable&) const = default;
};

// RateOf: the base of a rate: comparisons (FMR), searches (FPIR), or nothing if the threshold was
// given as a score.
enum class RateOf : uint8_t { kNothing, kComparisons, kSearches };

// ChosenThreshold: accept at this score or above.
struct ChosenThreshold {
  double score = 0;              // accept this cosine or above
  RateOf of = RateOf::kNothing;  // whether the rate is a share of comparisons or of searches,
                                 // or of nothing if the score was given
  double rate = 0;               // the requested rate; 0: none
  RateInterval interval = {};    // the rate on new people, with 95% confidence
  std::string warning = {};      // why the threshold should not be relied on; empty if it may be
};

// ChooseThreshold: for a false match rate. Interpolates between the points of a curve in the
// logarithm of the rate. kInvalidArgument for a rate outside (0, 1) and a curve without points;
// kOutOfRange, with the available rates, outside its points.
HEFT_EXPORT absl::StatusOr<ChosenThreshold> ChooseThreshold(
    std::span<const DecisionThreshold> curve, double fmr);

// kFarthest: how many times rarer than one of the measured comparisons a requested rate may be.
inline constexpr double kFarthest = 30;
// ChooseSearchThreshold: for a false positive identification rate in a gallery of `people` with at
// most `templates` each. Above the m templates that the largest calibration has, n count as n/m
// people, which keeps the rate, and a warning says so. kInvalidArgument for a rate outside (0, 1),
// no people, or no calibration. kOutOfRange, with the limits of the data, for a rate that is rarer
// than kFarthest allows.
HEFT_EXPORT absl::StatusOr<ChosenThreshold> ChooseSearchThreshold(
    std::span<const SearchCalibration> searches, double fpir, uint64_t people,
    uint32_t templates = 1);

}  // namespace heft

#endif  // HEFT_DECISIONS_H_
