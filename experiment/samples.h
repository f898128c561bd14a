// SPDX-License-Identifier: Apache-2.0
// What several samples of a person at enrolment and at the probe do: to FNMR at a fixed FMR, to
// time and bytes, and to what scores give away. Over folds by identity, plain and under encryption.
#ifndef HEFT_EXPERIMENT_SAMPLES_H_
#define HEFT_EXPERIMENT_SAMPLES_H_

#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/comparisons.h"
#include "experiment/sample_draws.h"
#include "features/dataset.h"
#include "heft/evaluate.h"
#include "heft/model.h"

namespace heft::experiment {

// SampleRow: one way, measured; means over the folds.
struct SampleRow {
  SampleWay way;
  ComparisonEstimate plain;
  ComparisonEstimate encrypted;  // empty where the measurement was plain
  double largest_gap = 0;        // of an encrypted score to its plain one
  double enrol_ms = 0;           // of the server, a person, as one thread saw it
  double sent_bytes = 0;         // a person's samples, for enrolment
  double stored_bytes = 0;       // a person's templates in a full block
  // At the models' thresholds for an FMR of 1e-2, which are fitted to single samples.
  double fmr_at_threshold = 0, fnmr_at_threshold = 0;
  // Of the templates, those that the approximation's interval holds, and that admission rejects.
  double outside = 0, rejected = 0;
  // What DefaultLimits' scores of a person give away: the cosine of the best guess with its nearest
  // template, and how often that is accepted at FMR 1e-3 (evaluation/recovery.h).
  double recovered = 0, recovered_accepted = 0;
};

// MixedRow: the mean of samples of so many different people, by mistake or on purpose.
struct MixedRow {
  int people = 2;
  double rejected = 0;  // share of such templates that admission rejects, by their length
};

struct SampleStudy {
  SampleStudyOptions options;
  int people = 0;        // who have enough samples
  int left_out = 0;      // who have not
  double agreement = 0;  // Model::sample_agreement, mean over the folds
  uint64_t scores = 0;   // of an identity that are published, ever: most of the models' defaults
  std::vector<SampleRow> rows;
  std::vector<MixedRow> mixed;
};

// StudySamples: `models`: one for each fold of `dataset`, each with a sample_agreement.
// kInvalidArgument where no person has enough samples or models do not fit; kFailedPrecondition for
// a model that lacks its agreement; kCancelled.
absl::StatusOr<SampleStudy> StudySamples(const Monitor& monitor, const Dataset& dataset,
                                         const std::vector<Model>& models,
                                         const SampleStudyOptions& options);

Json ToJson(const SampleStudy& study);
std::string ToText(const SampleStudy& study);
// DrawSampleRates: FNMR at FMR 1e-2 by the number of samples, with intervals; inline SVG.
// RunGnuplot's errors.
absl::StatusOr<std::string> DrawSampleRates(const SampleStudy& study);
std::string MakeSamplesPage(const SampleStudy& study, const std::string& picture,
                            const std::string& data_name, const std::string& data_description,
                            const std::string& command);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_SAMPLES_H_
