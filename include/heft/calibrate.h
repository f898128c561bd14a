// SPDX-License-Identifier: Apache-2.0
// Calibrating a model: thresholds, searches and likelihood ratios from people who did not train its
// projection. For a model that has none (heft train --method none), or whose users differ from the
// people that it was trained on. No cryptography and no keys. Link heft::heft.
#ifndef HEFT_CALIBRATE_H_
#define HEFT_CALIBRATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "heft/dataset.h"
#include "heft/described.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/progress.h"

namespace heft {

// kFewestCalibrated: people with two samples or more that a calibration needs.
inline constexpr int kFewestCalibrated = 10;

// Calibrate: `model` with decision tables that are fitted to the scores of `data`, one for each set
// of modalities that a probe may have. Tables that the model had are replaced. Model::Id() stays,
// so galleries and keys remain valid; Model::DecisionId() changes. The training summary gets a
// member "calibration" (docs/decisions.md).
//
// `data` must have all modalities of the model. Rows that split.txt, or FromRows' `split`, marks
// "train" or "val" are left out, if the others have kFewestCalibrated people with two samples. All others
// must be people who did not train the projection: scores of those are too good. `seed` draws the
// resampled people of the intervals. The result depends on model, data and seed alone.
//
// kInvalidArgument: a modality is missing or has another dimension, or there are too few people.
// kFailedPrecondition: some of the people trained the projection, as far as the training summary
// shows. kCancelled.
//
// `against_wolves`: as LearnOptions::against_wolves. Wolves, and what scores and decisions reveal of
// a template, are measured on these people in five parts: the attacker knows four.
HEFT_EXPORT absl::StatusOr<Model> Calibrate(const Model& model, const TrainingData& data,
                                            uint64_t seed = 1, const Monitor& monitor = {},
                                            bool against_wolves = false);

// DescribeCalibration: on whom the decision tables of a calibrated model rest, and the thresholds
// for FMR 1e-2, 1e-3 and 1e-4. Warnings: too few comparisons, samples outside the interval of the
// normalisation. kFailedPrecondition for a model that Calibrate has not made.
HEFT_EXPORT absl::StatusOr<Described> DescribeCalibration(const Model& model);

}  // namespace heft

#endif  // HEFT_CALIBRATE_H_
