// SPDX-License-Identifier: Apache-2.0
// Whether a search has false positives at the requested rate, in galleries of 10 to 10,000 people.
// Thresholds are fitted on some hundred people and tried on others. All of them are drawn, again
// and again, from a law with the statistics of the people of a data set (experiment/people.h).
#ifndef HEFT_EXPERIMENT_SEARCH_STUDY_H_
#define HEFT_EXPERIMENT_SEARCH_STUDY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/people.h"
#include "heft/evaluate.h"
#include "heft/files.h"

namespace heft::experiment {

// StudyRow: of all draws.
struct StudyRow {
  uint64_t calibrated_on = 0;  // people
  double asked = 0;            // FPIR
  uint64_t people = 0;         // in the gallery
  int draws = 0, refused = 0;
  int held = 0;           // of those not refused, by the interval that came with the threshold
  double ratio = 0;       // measured over asked, geometric mean
  double lo = 0, hi = 0;  // 95% of the draws
  double predicted_lo = 0, predicted_hi = 0;  // that interval over asked, geometric means
  std::string reason = {};                    // of a refusal
};

// LawCheck: what two of the data's people and two of the law's have in common: the share of
// comparisons that reach the score which this share of the data's reach.
struct LawCheck {
  double data = 0, law = 0;
};

struct SearchStudy {
  SearchStudyOptions options;
  size_t laws = 0;
  std::vector<LawCheck> checks;  // means over the laws
  std::vector<StudyRow> rows;
};

// PeopleOf: z of people, as a model makes them, and their identities.
struct PeopleOf {
  FeatureMatrix z;
  std::vector<int> identities;
};
// StudySearches: draws take turns over the laws of `sets`. FitPeople's errors; kCancelled.
absl::StatusOr<SearchStudy> StudySearches(const Monitor& monitor, std::span<const PeopleOf> sets,
                                          const SearchStudyOptions& options);

Json ToJson(const SearchStudy& study);
std::string ToText(const SearchStudy& study);
// RunGnuplot's errors. `picture` receives the picture alone.
absl::StatusOr<std::string> MakeStudyReport(const SearchStudy& study, const std::string& data_name,
                                            const std::string& data_description,
                                            std::string* picture);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SEARCH_STUDY_H_
