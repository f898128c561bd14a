// SPDX-License-Identifier: Apache-2.0
// Pictures of error rates and scores that several reports share.
#ifndef HEFT_EXPERIMENT_RATE_PLOTS_H_
#define HEFT_EXPERIMENT_RATE_PLOTS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/metrics.h"
#include "experiment/figure.h"

namespace heft::experiment {

// RateCurve: one system in a DET or ROC.
struct RateCurve {
  std::string label;
  std::vector<RocPoint> points;
  bool plain = false;                // drawn broad and pale, under the others
  std::vector<RocPoint> marks = {};  // of a DET: points of interest on the curve
};

// DrawDet: FNMR over FMR, both as normal deviates (A. Martin et al., The DET curve in assessment of
// detection task performance, 1997), where normal scores give straight lines.
void DrawDet(GnuplotJob* job, const std::string& name, std::span<const RateCurve> curves);
// DrawRoc: the share of genuine comparisons accepted, over the logarithm of FMR.
void DrawRoc(GnuplotJob* job, const std::string& name, std::span<const RateCurve> curves);

// ScoreMark: a threshold and the text beside it.
struct ScoreMark {
  double score = 0;
  std::string text;
};
// ScoreHistogram: scores; and, where there are such, the same computed in the clear.
struct ScoreHistogram {
  const ScoreSet* scores = nullptr;
  const ScoreSet* plain = nullptr;
};
void DrawScores(GnuplotJob* job, const std::string& name, const ScoreHistogram& histogram,
                std::span<const ScoreMark> marks);

// Bins: equal ones over [lo, hi], and the share of the values in each; what lies outside counts in
// the outermost.
struct Bins {
  double lo, hi;
  std::vector<double> share;
  double Centre(size_t i) const;
  double Largest() const;
  std::string Rows(double x_scale = 1, double y_scale = 1) const;
};
Bins Bin(std::span<const double> values, double lo, double hi, int bins);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_RATE_PLOTS_H_
