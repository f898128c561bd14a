// SPDX-License-Identifier: Apache-2.0
// An evaluation as JSON and as text, and what others need of that.
#ifndef HEFT_EXPERIMENT_EVALUATION_OUTPUT_H_
#define HEFT_EXPERIMENT_EVALUATION_OUTPUT_H_

#include <string>

#include "experiment/evaluation.h"
#include "heft/json.h"

namespace heft::experiment {

// EstimateJson: {"value", "lo", "hi"}; EstimateText: "0.9511 [0.9411, 0.9611]".
Json EstimateJson(const Estimate& e);
std::string EstimateText(const Estimate& e);

Json ToJson(const Evaluation& evaluation);
std::string ToText(const Evaluation& evaluation);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_EVALUATION_OUTPUT_H_
