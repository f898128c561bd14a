// SPDX-License-Identifier: Apache-2.0
// Shared by train and init.
#ifndef HEFT_CLI_TRAINING_H_
#define HEFT_CLI_TRAINING_H_

#include <string>

#include "heft/train.h"
#include "program/common.h"

namespace heft::cli {

// LoadTrainingData: a data folder, with labels or without. Says which files were taken for no
// modality.
absl::StatusOr<TrainingData> LoadTrainingData(const Common& common, const std::string& data,
                                              const LearnOptions& learn);

// AddMethod: --method.
Option AddMethod(Command command, LearnOptions* learn);

}  // namespace heft::cli

#endif  // HEFT_CLI_TRAINING_H_
