// SPDX-License-Identifier: Apache-2.0
// Training under a monitor: it shows every epoch and can stop it.
#ifndef HEFT_LEARNING_LEARN_H_
#define HEFT_LEARNING_LEARN_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "features/dataset.h"
#include "heft/train.h"
#include "learning/train.h"

namespace heft {

// TrainWithProgress: one run, shown as "training `name`". With `checkpoint` the state is saved
// there after every epoch, and a run that finds the file goes on from it. `curve`, if not null,
// receives the AUROC of every epoch. kCancelled when interrupted; Train's errors.
absl::StatusOr<TrainResult> TrainWithProgress(const Monitor& monitor, const Dataset& dataset,
                                              const TrainOptions& train, const std::string& name,
                                              const std::string& checkpoint = "",
                                              std::vector<LearnEpoch>* curve = nullptr);

// StoppedBy: hooks for a training that is not shown, which `monitor` can stop after every epoch.
TrainHooks StoppedBy(const Monitor& monitor);

}  // namespace heft

#endif  // HEFT_LEARNING_LEARN_H_
