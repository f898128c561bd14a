// SPDX-License-Identifier: Apache-2.0
// Open-set searches of people without a given enrolment. Over and over, a random half of the people
// is enrolled and the others are strangers. Rates are pooled over all halves and sets of people
// (the folds of a cross-validation). Their intervals are those of the jackknife over people, who
// count in both roles (B. Efron and C. Stein, The jackknife estimate of variance, Annals of
// Statistics 9, 1981). They are on a logarithmic scale, and at least as wide as if all searches
// were independent.
#ifndef HEFT_EVALUATION_OPEN_SET_TRIAL_H_
#define HEFT_EVALUATION_OPEN_SET_TRIAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/open_set.h"

namespace heft {

struct OpenSetPlan {
  uint32_t templates = 1;  // of each enrolled person, whose other samples search
  int halves = 20;
  uint64_t seed = 1;
};

// GallerySize: how many people of a set are enrolled: half of them, or all people with more than
// `templates` samples if those are fewer. 0 where no stranger would be left, or no person can be
// enrolled.
size_t GallerySize(std::span<const int> identities, uint32_t templates);

// OpenSetOutcome: rates at every threshold, and the curves of all searches.
struct OpenSetOutcome {
  struct Rates {
    Estimate fpir, fnir;
  };
  std::vector<Rates> at;
  SearchErrors curve;
};

// TryOpenSet: thresholds[k] are those of set k, as many for each. scores[i][j] is of probe i and
// template j. kInvalidArgument for sets that are no squares or where GallerySize is 0, and
// thresholds that do not go with them.
absl::StatusOr<OpenSetOutcome> TryOpenSet(std::span<const LabelledScores> sets,
                                          std::span<const std::vector<double>> thresholds,
                                          const OpenSetPlan& plan = {});

// SearchGallery: the same of one given gallery. scores[i][j] is of a probe of person probes[i] and
// a template of person templates[j]; people are numbered from 0. `left_out` as SearchTally's: an
// enrolled person searches as a stranger, without the person's own template.
absl::StatusOr<OpenSetOutcome> SearchGallery(const FeatureMatrix& scores,
                                             std::span<const int> probes,
                                             std::span<const int> templates,
                                             std::span<const double> thresholds,
                                             std::span<const int> left_out = {});

}  // namespace heft

#endif  // HEFT_EVALUATION_OPEN_SET_TRIAL_H_
