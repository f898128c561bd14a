// SPDX-License-Identifier: Apache-2.0
// The private half of heft/dataset.h.
#ifndef HEFT_FEATURES_TRAINING_DATA_H_
#define HEFT_FEATURES_TRAINING_DATA_H_

#include "features/dataset.h"
#include "heft/dataset.h"

namespace heft {

class TrainingData::Impl {
 public:
  Dataset dataset;
};

}  // namespace heft

#endif  // HEFT_FEATURES_TRAINING_DATA_H_
