// SPDX-License-Identifier: Apache-2.0
// Systems in plain numbers, scored on the test split.
#ifndef HEFT_PAPER_SECTIONS_SYSTEMS_H_
#define HEFT_PAPER_SECTIONS_SYSTEMS_H_

#include <optional>
#include <vector>

#include "base/status.h"
#include "experiment/systems.h"
#include "features/dataset.h"
#include "paper/methods/normalisation_plan.h"

namespace heft::paper {

// ScoresOf: scores of all pairs under a projection; normalised exactly where there is no
// normalisation.
absl::StatusOr<LabelledScores> ScoresOf(const Dataset& data, const FeatureMatrix& projection,
                                        const std::optional<NormalisationSpec>& normalisation);

// FixedSystems: the modalities, their average (of equal dimensions) and their concatenation:
// cosines of features scaled by the data set's norm. In this order; ids are "modality0",
// "modality1", "average", "concatenation".
absl::StatusOr<std::vector<experiment::SystemScores>> FixedSystems(const Dataset& data);

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_SYSTEMS_H_
