// SPDX-License-Identifier: Apache-2.0
// A cross-validation as JSON, as text, and as one self-contained HTML page.
#ifndef HEFT_EXPERIMENT_CROSS_VALIDATION_OUTPUT_H_
#define HEFT_EXPERIMENT_CROSS_VALIDATION_OUTPUT_H_

#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/cross_validation.h"
#include "heft/json.h"

namespace heft::experiment {

Json ToJson(const CrossValidation& c);
std::string ToText(const CrossValidation& c);

// `data_name` and `data_description` as in Evaluation; `command` is what made the result. The
// picture is drawn by gnuplot: RunGnuplot's errors.
absl::StatusOr<std::string> MakeFoldReport(const CrossValidation& c, const std::string& data_name,
                                           const std::string& data_description,
                                           const std::string& command);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_CROSS_VALIDATION_OUTPUT_H_
