// SPDX-License-Identifier: Apache-2.0
// Scores of lists of references and probes, each of one sample or the mean of several
// (fusion/mean.h), in the clear and computed under encryption by the library's roles.
#ifndef HEFT_EXPERIMENT_MEAN_SCORES_H_
#define HEFT_EXPERIMENT_MEAN_SCORES_H_

#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "features/dataset.h"
#include "features/matrix.h"
#include "heft/model.h"

namespace heft::experiment {

// RowLists: rows of the data set, of each reference or probe.
using RowLists = std::vector<std::vector<int>>;

// PlainMeans, EncryptedMeans: scores[probe][reference]. CheckMean's errors; kCancelled.
absl::StatusOr<FeatureMatrix> PlainMeans(const Model& model, const Dataset& dataset,
                                         const RowLists& references, const RowLists& probes);
absl::StatusOr<FeatureMatrix> EncryptedMeans(const Monitor& monitor, const Model& model,
                                             const Dataset& dataset, const RowLists& references,
                                             const RowLists& probes);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_MEAN_SCORES_H_
