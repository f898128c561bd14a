// SPDX-License-Identifier: Apache-2.0
#include "learning/adam.h"

#include <cmath>

namespace heft {

void AdamStep(const AdamOptions& options, const FeatureMatrix& gradient, FeatureMatrix& parameter,
              AdamState& state) {
  if (state.step == 0) {
    state.mean = FeatureMatrix::Zero(parameter.rows(), parameter.cols());
    state.square = state.mean;
  }
  ++state.step;
  const FeatureMatrix g = gradient + options.weight_decay * parameter;
  state.mean = options.beta1 * state.mean + (1 - options.beta1) * g;
  state.square = options.beta2 * state.square + (1 - options.beta2) * g.cwiseAbs2();
  const double mean_correction = 1 - std::pow(options.beta1, state.step);
  const double square_correction = 1 - std::pow(options.beta2, state.step);
  parameter.array() -= options.learning_rate / mean_correction * state.mean.array() /
                       ((state.square.array() / square_correction).sqrt() + options.epsilon);
}

}  // namespace heft
