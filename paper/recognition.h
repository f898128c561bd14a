// SPDX-License-Identifier: Apache-2.0
// Systems over identity folds: shared by the sections on recognition.
#ifndef HEFT_PAPER_RECOGNITION_H_
#define HEFT_PAPER_RECOGNITION_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "evaluation/bootstrap.h"
#include "evaluation/folds.h"
#include "paper/content.h"
#include "paper/normalisation_methods.h"
#include "paper/study.h"

namespace heft::paper {

// Scores of all pairs of the test split under a projection; normalised exactly where there is no
// normalisation.
absl::StatusOr<LabelledScores> ScoresOf(const Dataset& data, const FeatureMatrix& projection,
                                        const std::optional<NormalisationSpec>& normalisation);

// The modalities, their average (of equal dimensions) and their concatenation, test split: cosines
// of features scaled by the data set's norm. In this order; ids are "modality0", "modality1",
// "average", "concatenation".
absl::StatusOr<std::vector<std::pair<ScoredSystem, LabelledScores>>> FixedSystems(
    const Dataset& data);

// AUROC that the paper gives for a system, by its id in our table.
using PaperAurocs = std::map<std::string, double>;

// The paper's table of AUROCs on these data: a table, the differences that its text speaks of, and
// the ROC curves. Fills `section`.
absl::Status CompareSystems(const Study& study, const Dataset& data, const PaperAurocs& paper,
                            const std::string& id, Section* section);

// Thinned for drawing, (FMR, TMR).
std::vector<std::pair<double, double>> RocCurve(const ScoreSet& scores);

}  // namespace heft::paper

#endif  // HEFT_PAPER_RECOGNITION_H_
