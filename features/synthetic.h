// SPDX-License-Identifier: Apache-2.0
// A synthetic data set of the form of real ones, for demonstrations without real data.
#ifndef HEFT_FEATURES_SYNTHETIC_H_
#define HEFT_FEATURES_SYNTHETIC_H_

#include "base/status.h"
#include "features/dataset.h"
#include "heft/dataset.h"

namespace heft {

// SynthesiseDataset: as TrainingData::Synthesise.
absl::StatusOr<Dataset> SynthesiseDataset(const SyntheticOptions& options);

}  // namespace heft

#endif  // HEFT_FEATURES_SYNTHETIC_H_
