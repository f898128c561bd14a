// SPDX-License-Identifier: Apache-2.0
// What a model says of decisions: thresholds, evidence and searches, fitted to cross-fitted scores.
#ifndef HEFT_LEARNING_DECIDE_H_
#define HEFT_LEARNING_DECIDE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "evaluation/thresholds.h"
#include "heft/decisions.h"
#include "heft/json.h"
#include "learning/cross_fit.h"

namespace heft {

struct Decisions {
  ThresholdTable thresholds;
  ScoreCalibration calibration;
  std::vector<SearchCalibration> searches;  // by templates a person, rising
  // Of the lengths of averages: the mean <z_i, z_j> of two samples of one person over the mean
  // |z|^2; empty where nobody has a second sample, or where it says nothing (0 or less).
  std::optional<double> sample_agreement;
  Json summary;  // "cross_fit", "fusion" and warnings, for Model::training_summary
};

// Decide: `seed` draws the resampled people. Errors as Verify's, where no part has two samples of a
// person.
absl::StatusOr<Decisions> Decide(const CrossFit& fit, uint64_t seed);

// SampleAgreement: of all parts' people. Samples that share a modality's vector, as pairs of all
// combinations do, are not two samples.
std::optional<double> SampleAgreement(const CrossFit& fit);

}  // namespace heft

#endif  // HEFT_LEARNING_DECIDE_H_
