// SPDX-License-Identifier: Apache-2.0
// An evaluation as one self-contained HTML page.
#ifndef HEFT_EXPERIMENT_REPORT_H_
#define HEFT_EXPERIMENT_REPORT_H_

#include <string>

#include "experiment/evaluation.h"

namespace heft::experiment {

struct Plots;

std::string MakeReport(const Evaluation& evaluation, const Plots& plots);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_REPORT_H_
