// SPDX-License-Identifier: Apache-2.0
// Open-set identification, 1:N (ISO/IEC 19795-1): a search names the best candidate if its score
// reaches a threshold. FPIR, the false positive identification rate, is the share of searches by
// people who are not enrolled that name a candidate. FNIR, the false negative identification rate,
// is the share of searches by enrolled people that do not name the right one. Unlike FMR, FPIR
// grows with the gallery, so a threshold belongs to a gallery's size.
//
// A threshold for a gallery larger than the number of measured people rests on a model of the tail
// of impostor scores (ImpostorTail). It fits the highest twentieth of the comparisons by
// probability-weighted moments (J. R. M. Hosking and J. R. Wallis, Technometrics 29, 1987). The fit
// is in depths, where tails of cosines are nearly exponential, and its shape is halved. The highest
// hundredth shows how uneven strangers are. Intervals come from resampling people
// (evaluation/bootstrap.h).
//
// Measured with known laws of people: alike, a fifth of them near each other, or some like
// everybody. Each law had 200 people with 5 samples in 5 sets, and 100 draws; open_set_test.cc does
// the same. The measured FPIR over the requested one was 0.8 to 1.1 (geometric mean) for galleries
// of 10 to 1,000 people at 1e-1 and 1e-2, and 0.6 to 0.7 for 10,000 at 1e-1. The 95% interval held
// it 89 to 100 times of 100.
#ifndef HEFT_EVALUATION_OPEN_SET_H_
#define HEFT_EVALUATION_OPEN_SET_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "features/matrix.h"
#include "heft/decisions.h"

namespace heft {

// FitSearches: of the scores of samples with each other: scores[i][j] is of probe i and template j,
// and both triangles are read. `sets`: one or more sets of people who took no part in anything
// before; people of different sets are never compared. A person is enrolled with the first
// `templates` samples, or fewer if there are fewer. All samples of the person are probes against
// everybody else in the set. kInvalidArgument for fewer than kFewestCalibrated in all sets
// together.
absl::StatusOr<SearchCalibration> FitSearches(std::span<const LabelledScores> sets,
                                              uint32_t templates = 1,
                                              const BootstrapOptions& options = {});

// SearchErrors: what a gallery of people and searches of it show.
struct SearchErrors {
  // At each threshold, rising: of strangers' searches, and of those of people who are enrolled.
  std::vector<double> thresholds, fpir, fnir;
  // Of the searches of people who are enrolled, those whose right candidate is among the first
  // k + 1, whatever the score: the cumulative match characteristic.
  std::vector<double> match_rates;
  uint64_t strangers = 0, mated = 0;  // searches
};
// SearchTally: adds up the searches of several galleries.
class SearchTally {
 public:
  // scores[i][j] of probe i and template j. `left_out`: for each probe the template that it is not
  // compared with, -1: none; empty: none for all. A probe whose person has no other template is a
  // stranger's. kInvalidArgument where sizes do not go together, or a score is not finite.
  absl::Status Add(const FeatureMatrix& scores, std::span<const int> probes,
                   std::span<const int> templates, std::span<const int> left_out = {});
  // kInvalidArgument where there is no search of either kind.
  absl::StatusOr<SearchErrors> Finish() const;

 private:
  std::vector<double> strangers_, mated_;  // best scores; -inf where another one was better
  std::vector<size_t> ranks_;
};

}  // namespace heft

#endif  // HEFT_EVALUATION_OPEN_SET_H_
