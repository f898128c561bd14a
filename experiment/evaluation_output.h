// SPDX-License-Identifier: Apache-2.0
// An evaluation as JSON and as text.
#ifndef HEFT_EXPERIMENT_EVALUATION_OUTPUT_H_
#define HEFT_EXPERIMENT_EVALUATION_OUTPUT_H_

#include <string>

#include "base/json.h"
#include "experiment/evaluation.h"

namespace heft::experiment {

Json ToJson(const Evaluation& evaluation);
std::string ToText(const Evaluation& evaluation);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_EVALUATION_OUTPUT_H_
