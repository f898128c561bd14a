// SPDX-License-Identifier: Apache-2.0
// The pictures of an evaluation's report, as inline SVG drawn by gnuplot. Colours are CSS
// variables, which the page defines for light and dark.
#ifndef HEFT_EXPERIMENT_REPORT_PLOTS_H_
#define HEFT_EXPERIMENT_REPORT_PLOTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "experiment/evaluation.h"

namespace heft::experiment {

struct Plots {
  std::string roc;             // plain, encrypted and the simple systems
  std::string scores;          // histograms of genuine and impostor scores, plain and encrypted
  std::string approximation;   // f(s) and 1 / sqrt(s)
  std::string relative_error;  // f(s) sqrt(s) - 1 over the histogram of s
  std::string score_error;     // histogram of encrypted minus plain scores
  std::string norms;           // s of whole samples and of such that lack modalities; may be empty
};

// RunGnuplot's errors.
absl::StatusOr<Plots> DrawPlots(const Evaluation& evaluation);

// One system of a cross-validation.
struct IntervalBar {
  std::string label;
  Estimate auroc;
  std::vector<double> by_fold;
  bool encrypted = false;
};

// Means, intervals and folds of all systems, one below the other. RunGnuplot's errors.
absl::StatusOr<std::string> DrawIntervals(const std::vector<IntervalBar>& bars);

// How a training went, epoch by epoch.
struct TrainingCurve {
  std::vector<double> epochs, train_auroc, val_auroc;
  int best_epoch = 0;
};
absl::StatusOr<std::string> DrawTrainingCurve(const TrainingCurve& curve);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_REPORT_PLOTS_H_
