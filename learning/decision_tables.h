// SPDX-License-Identifier: Apache-2.0
// A model's decision tables (heft/decisions.h), one for each set of modalities that a probe may
// have, fitted to scores of people who took no part in its training.
#ifndef HEFT_LEARNING_DECISION_TABLES_H_
#define HEFT_LEARNING_DECISION_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "heft/decisions.h"

namespace heft {

// ProbeScores: scores of probes that have just these modalities against whole templates. Each set
// is a square: row i is sample i as a probe, column j is sample j as a template. People of
// different sets are never compared.
struct ProbeScores {
  uint32_t modalities = 0;  // bit i: modality i of the model
  std::vector<LabelledScores> sets;
};

// FitDecisionTable: thresholds and calibration come from the upper triangle. `searches` says
// whether searches are calibrated too, for each number of templates that half of the people have
// (recipe::kSearchTemplates); with fewer than kFewestCalibrated people there are none. `seed` draws
// the resampled people. kInvalidArgument for no modality; Verify's errors, where no set has a
// genuine or an impostor comparison.
absl::StatusOr<DecisionTable> FitDecisionTable(const ProbeScores& scores, uint64_t seed,
                                               bool searches);

// ProbeSets: the sets of modalities that get a table, the whole set first: of up to 4 modalities
// all that are not empty, of more the whole one, each alone, and those that lack one.
std::vector<uint32_t> ProbeSets(size_t modalities);
// MissingModalities: the modalities that are not in a set, rising.
std::vector<int> MissingModalities(uint32_t set, size_t modalities);

}  // namespace heft

#endif  // HEFT_LEARNING_DECISION_TABLES_H_
