// SPDX-License-Identifier: Apache-2.0
// Evaluations and cross-validations as JSON, as text, and as self-contained HTML pages.
#ifndef HEFT_EXPERIMENT_REPORTS_H_
#define HEFT_EXPERIMENT_REPORTS_H_

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "experiment/cross_validation.h"
#include "experiment/evaluation.h"
#include "experiment/page.h"
#include "heft/files.h"

namespace heft::experiment {

// EstimateJson: {"value", "lo", "hi"}; EstimateText: "0.9511 [0.9411, 0.9611]".
Json EstimateJson(const Estimate& e);
// RowJson: a row of a table of systems.
Json RowJson(const FoldRow& row);
std::string EstimateText(const Estimate& e);

Json ToJson(const Evaluation& evaluation);
std::string ToText(const Evaluation& evaluation);

// Plots: the pictures of an evaluation's report, as inline SVG drawn by gnuplot. Colours are CSS
// variables, which the page defines for light and dark.
struct Plots {
  std::string roc;                    // plain, encrypted and the simple systems
  std::string approximation;          // f(s) and 1 / sqrt(s)
  std::string relative_error;         // f(s) sqrt(s) - 1 over the histogram of s
  std::string score_error;            // histogram of encrypted minus plain scores
  std::vector<PageFigure> judgement;  // DrawJudgement's
  std::vector<std::string> judgement_files;
  std::string norms;  // s of whole samples and of such that lack modalities; may be empty
  std::string gamma;  // what dimensions were worth to training people; empty where none were tried
};

// DrawPlots: RunGnuplot's errors.
absl::StatusOr<Plots> DrawPlots(const Evaluation& evaluation);
// `command` is what makes it again.
std::string MakeReport(const Evaluation& evaluation, const Plots& plots,
                       const std::string& command);

// One system of a cross-validation.
struct IntervalBar {
  std::string label;
  Estimate auroc;
  std::vector<double> by_fold;
  bool encrypted = false;
};

// Means, intervals and folds of all systems, one below the other. RunGnuplot's errors.
absl::StatusOr<std::string> DrawIntervals(const std::vector<IntervalBar>& bars);

Json ToJson(const CrossValidation& c);
std::string ToText(const CrossValidation& c);

// `data_name` and `data_description` as in Evaluation; `command` is what made the result. The
// pictures are drawn by gnuplot: RunGnuplot's errors. `pictures` receives them with names of files.
absl::StatusOr<std::string> MakeFoldReport(
    const CrossValidation& c, const std::string& data_name, const std::string& data_description,
    const std::string& command, std::vector<std::pair<std::string, std::string>>* pictures);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_REPORTS_H_
