// SPDX-License-Identifier: Apache-2.0
// Calibrates a model: thresholds, searches and likelihood ratios from people who did not train its
// projection. For a model without decision tables (heft train --method none), or with users who
// differ from the people of its training. No cryptography and no keys. Link heft::heft.
#ifndef HEFT_CALIBRATE_H_
#define HEFT_CALIBRATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "heft/dataset.h"
#include "heft/decisions.h"
#include "heft/described.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/progress.h"

namespace heft {

// Calibrate: returns `model` with decision tables fitted to the scores of `data`, one for each set
// of modalities that a probe may have. They replace the model's tables. Model::Id() stays the same,
// so galleries and keys remain valid; Model::DecisionId() changes. The training summary gets a
// member "calibration" (docs/decisions.md).
//
// `data` must have all modalities of the model. Rows marked "train" or "val" by split.txt or
// FromRows' `split` are left out if the others have kFewestCalibrated people with two samples. The
// people of the rows that remain must not have trained the projection, because scores of training
// people are too good. `seed` draws the resampled people of the intervals. The result depends only
// on model, data and seed.
//
// kInvalidArgument: a modality is missing or has another dimension, or there are too few people.
// kFailedPrecondition: the training summary shows that some of the people trained the projection.
// kCancelled.
//
// `against_wolves`: as LearnOptions::against_wolves. Wolves, and the information that scores and
// decisions reveal about a template, are measured on these people in five parts: the attacker knows
// four.
HEFT_EXPORT absl::StatusOr<Model> Calibrate(const Model& model, const TrainingData& data,
                                            uint64_t seed = 1, const Monitor& monitor = {},
                                            bool against_wolves = false);

// DescribeCalibration: the people behind the decision tables of a calibrated model, and the
// thresholds for FMR 1e-2, 1e-3 and 1e-4. Warnings: too few comparisons, samples outside the
// interval of the normalisation. kFailedPrecondition for a model without calibration.
HEFT_EXPORT absl::StatusOr<Described> DescribeCalibration(const Model& model);

}  // namespace heft

#endif  // HEFT_CALIBRATE_H_
