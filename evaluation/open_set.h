// SPDX-License-Identifier: Apache-2.0
// Open-set identification, 1:N (ISO/IEC 19795-1): a search names the best candidate if its score
// reaches a threshold. FPIR is the share of searches by people who are not enrolled that name
// somebody (the false positive identification rate), FNIR that of people who are enrolled that do
// not name the right one (false negative). Unlike FMR, FPIR grows with the gallery: a threshold is
// for a gallery's size.
//
// A threshold for galleries larger than there are people to measure on rests on a model of the
// tail of impostor scores. Scores above a high one, `start`, follow a generalised Pareto
// distribution (J. Pickands, Statistical inference using extreme order statistics, Annals of
// Statistics 3, 1975), fitted by probability-weighted moments (J. R. M. Hosking and J. R. Wallis,
// Technometrics 29, 1987); how many of a stranger's scores get there differs between strangers,
// which is why FPIR is not 1 - (1 - FMR)^N: their rates follow a gamma distribution, so a search of
// N people names somebody with a probability of 1 - (1 + N rate(t) / evenness)^-evenness. Intervals
// come from resampling people (evaluation/bootstrap.h).
#ifndef HEFT_EVALUATION_OPEN_SET_H_
#define HEFT_EVALUATION_OPEN_SET_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/matrix.h"

namespace heft {

// ImpostorTail: how often a stranger's best score against one enrolled person reaches a threshold.
struct ImpostorTail {
  double start = 0;     // scores from here on
  double rate = 0;      // of them: the share of comparisons that reach `start`
  double scale = 0;     // of the generalised Pareto distribution above it, > 0
  double shape = 0;     // below 1; negative: scores have an upper end
  double evenness = 0;  // shape of the gamma distribution of strangers' rates; infinite: all alike

  // The share of comparisons that reach `threshold`, at least `start`.
  double RateAt(double threshold) const;
  // The probability that a stranger's search of `people` names somebody.
  double Fpir(double threshold, double people) const;
  // The threshold at which that is `fpir`; below `start` where it is reached there already.
  double ThresholdFor(double fpir, double people) const;
};

// SearchCalibration: a tail, the same for resampled people, and what it rests on.
struct SearchCalibration {
  ImpostorTail tail;
  std::vector<ImpostorTail> replicates;
  uint32_t templates = 1;    // a person, in the gallery
  uint64_t people = 0;       // that it was fitted on
  uint64_t comparisons = 0;  // of a stranger with a person
};

// FitSearches: of the scores of samples with each other (scores[i][j] of probe i and template j;
// both triangles are read), all of people who took no part in anything before. A person is
// enrolled with his first `templates` samples (fewer where he has fewer), and probes with all of
// them against everybody else. kInvalidArgument for fewer than kFewestPeople.
inline constexpr uint64_t kFewestPeople = 10;
absl::StatusOr<SearchCalibration> FitSearches(const LabelledScores& scores, uint32_t templates = 1,
                                              const BootstrapOptions& options = {});

// ChosenSearch: a threshold for searches, and the rate that is to be expected there.
struct ChosenSearch {
  double threshold = 0;
  Estimate fpir;  // value: as asked for; its interval over replicates
};
// kFarthest: how much rarer than one comparison in all that were seen what is asked for may be.
inline constexpr double kFarthest = 30;
// ChooseSearch: kInvalidArgument for an fpir outside (0, 1) or no people; kOutOfRange, with the
// largest gallery that the data allow, where it lies farther beyond them than kFarthest.
absl::StatusOr<ChosenSearch> ChooseSearch(const SearchCalibration& calibration, double fpir,
                                          uint64_t people, double confidence = 0.95);

// SearchErrors: what a gallery of people and searches of it show.
struct SearchErrors {
  // At each threshold, rising: of strangers' searches, and of those of people who are enrolled.
  std::vector<double> thresholds, fpir, fnir;
  // Of the searches of people who are enrolled, those whose right candidate is among the first
  // k + 1, whatever the score: the cumulative match characteristic.
  std::vector<double> match_rates;
  uint64_t strangers = 0, mated = 0;  // searches
};
// MeasureSearches: scores[i][j] of probe i and template j. kInvalidArgument where sizes do not go
// together, a score is not finite, or there is no search of either kind.
absl::StatusOr<SearchErrors> MeasureSearches(const FeatureMatrix& scores,
                                             std::span<const int> probes,
                                             std::span<const int> templates);

}  // namespace heft

#endif  // HEFT_EVALUATION_OPEN_SET_H_
