// SPDX-License-Identifier: Apache-2.0
// heft evaluate for files of scores.
#ifndef HEFT_CLI_EVALUATE_SCORES_H_
#define HEFT_CLI_EVALUATE_SCORES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "heft/evaluate.h"
#include "program/common.h"
#include "program/report_output.h"

namespace heft::cli {

struct ScoreFlags {
  std::vector<std::string> files;  // or genuine=FILE and impostor=FILE
  std::string split;               // empty: all
  ScoreOptions how;
};
absl::Status EvaluateScores(const Common& common, const ScoreFlags& flags,
                            const ReportFlags& output);

}  // namespace heft::cli

#endif  // HEFT_CLI_EVALUATE_SCORES_H_
