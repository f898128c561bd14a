// SPDX-License-Identifier: Apache-2.0
// What a model says of decisions: a table for each set of modalities that a probe may have, fitted
// to cross-fitted scores.
#ifndef HEFT_LEARNING_DECIDE_H_
#define HEFT_LEARNING_DECIDE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "heft/decisions.h"
#include "heft/files.h"
#include "learning/cross_fit.h"
#include "learning/decision_tables.h"

namespace heft {

struct Decisions {
  std::vector<DecisionTable> tables;  // the whole set first
  // Of the lengths of averages: the mean <z_i, z_j> of two samples of one person over the mean
  // |z|^2. Empty where no person has a second sample, or where it says nothing (0 or less).
  std::optional<double> sample_agreement;
  Json summary;  // "cross_fit", "fusion" and warnings, for Model::training_summary
};

// ProbeLength: how a profile brings probes to unit length: by the polynomial that templates are
// normalised with (one ring), or by the probe's own norm, which the key owner divides by (two
// rings).
enum class ProbeLength : uint8_t { kApproximate, kExact };

// Decide: `seed` draws the resampled people. Errors as Verify's, where no part has two samples of a
// person.
// `against_wolves`: thresholds keep their rates for wolves too (learning/attacks.h).
absl::StatusOr<Decisions> Decide(const CrossFit& fit, ProbeLength length, uint64_t seed,
                                 bool against_wolves = false);

// ScoresOfSet: of probes of each part's people that have just these modalities, against whole
// templates, under its result and normalised as encrypted scores are.
absl::StatusOr<ProbeScores> ScoresOfSet(const CrossFit& fit, ProbeLength length, uint32_t set);

// SampleAgreement: of all parts' people. Samples that share a modality's vector, as pairs of all
// combinations do, are not two samples.
std::optional<double> SampleAgreement(const CrossFit& fit);

}  // namespace heft

#endif  // HEFT_LEARNING_DECIDE_H_
