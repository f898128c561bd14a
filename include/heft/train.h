// SPDX-License-Identifier: Apache-2.0
// Learning a model from feature vectors of people who agreed to it: no cryptography and no keys.
// Link heft::heft.
#ifndef HEFT_TRAIN_H_
#define HEFT_TRAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "heft/dataset.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/progress.h"

namespace heft {

// LearnOptions: `heft train --help` says more, and has more.
struct LearnOptions {
  int gamma = 32;  // fused dimension, a power of two
  int degree = 3;  // of the polynomial that normalises, 2 or 3
  std::string profile = "thin";
  int epochs = 0;  // 0: at most 60, fewer where validation gets no better
  uint64_t seed = 1;
};

// Learn trains on the training and validation splits of `data` and fits thresholds and calibration
// on validation people. The result depends on data, options and seed, not on the number of threads.
// About a minute at 512 + 512 dimensions and 1,000 rows, all threads. kInvalidArgument for options
// out of range, fewer than two identities in either split or none with a second sample; kCancelled.
HEFT_EXPORT absl::StatusOr<Model> Learn(const TrainingData& data, const LearnOptions& options = {},
                                        const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_TRAIN_H_
