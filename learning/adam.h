// SPDX-License-Identifier: Apache-2.0
// Adam (D. P. Kingma and J. Ba, 2015) for one matrix.
#ifndef HEFT_LEARNING_ADAM_H_
#define HEFT_LEARNING_ADAM_H_

#include <cstdint>

#include "features/matrix.h"

namespace heft {

struct AdamOptions {
  double learning_rate = 5e-3;  // the paper's
  double weight_decay = 1e-4;   // added to the gradient as weight_decay * parameter
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

// AdamState: all that a resumed run needs.
struct AdamState {
  FeatureMatrix mean, square;  // running moments; empty before the first step
  int64_t step = 0;
};

void AdamStep(const AdamOptions& options, const FeatureMatrix& gradient, FeatureMatrix& parameter,
              AdamState& state);

}  // namespace heft

#endif  // HEFT_LEARNING_ADAM_H_
