// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiment/figure.h"
#include "experiment/gamma_section.h"
#include "experiment/rate_plots.h"
#include "experiment/reports.h"
#include "heft/evaluate.h"

namespace heft::experiment {
namespace {

void DrawRoc(GnuplotJob* job, const Evaluation& e) {
  constexpr double kFromFmr = 1e-4;
  Figure figure(job, "roc");
  figure.Line("set logscale x");
  figure.Line(absl::StrFormat("set xrange [%g:1]", kFromFmr));
  figure.Line("set yrange [0:1]");
  figure.Line("set xtics ('10⁻⁴' 1e-4, '10⁻³' 1e-3, '0.01' 0.01, '0.1' 0.1, '1' 1)");
  figure.Label("x", "FMR: share of impostor pairs accepted");
  figure.Label("y", "TMR: share of genuine pairs accepted");
  auto draw = [&](const SystemResult& system, const std::string& style) {
    std::string rows;
    for (const RocPoint& p : system.roc) {
      absl::StrAppendFormat(&rows, "%.6g %.6g\n", std::max(p.fmr, kFromFmr / 10), p.tmr);
    }
    figure.Curve(rows, "with steps", style, system.system.label);
  };
  const Colour simple[] = {kFirst, kSecond, kThird};
  for (size_t m = 0; m < e.model.modalities.size(); ++m) {
    if (const SystemResult* system = e.Find(e.model.modalities[m].name)) {
      draw(*system, Style(simple[m % 2], 1.5, 1 + static_cast<int>(m / 2)));
    }
  }
  if (const SystemResult* system = e.Find("concatenation")) draw(*system, Style(kThird, 1.5));
  draw(*e.Find("fhe_aware_plain"), Style(kPlain, 5));
  draw(*e.Find("fhe_aware_encrypted"), Style(kEncrypted, 2, 2));
  figure.Finish();
}

// The s that both pictures of the approximation show: the interval and the data.
Interval ShownNorms(const Evaluation& e) {
  const Interval& interval = e.model.approximation.interval;
  const auto [least, largest] = std::minmax_element(e.squared_norms.begin(), e.squared_norms.end());
  const double lo = std::min(interval.lo, *least), hi = std::max(interval.hi, *largest);
  const double room = 0.06 * (hi - lo);
  return {std::max(lo - room, 0.2 * lo), hi + room};
}

// f over the shown norms in fine steps: "s f(s) 1/sqrt(s) error".
std::string CurveRows(const Approximation& f, const Interval& shown) {
  constexpr int kSteps = 400;
  std::string rows;
  for (int i = 0; i <= kSteps; ++i) {
    const double s = shown.lo + (shown.hi - shown.lo) * i / kSteps;
    absl::StrAppendFormat(&rows, "%.9g %.9g %.9g %.9g\n", s, f(s), 1 / std::sqrt(s),
                          100 * (f(s) * std::sqrt(s) - 1));
  }
  return rows;
}

void DrawApproximation(GnuplotJob* job, const Evaluation& e) {
  const Approximation& f = e.model.approximation;
  const Interval shown = ShownNorms(e);
  Figure figure(job, "approximation");
  figure.Line(absl::StrFormat("set xrange [%.6g:%.6g]", shown.lo, shown.hi));
  figure.Line(absl::StrFormat("set yrange [0:%.6g]", 1.1 / std::sqrt(shown.lo)));
  figure.Label("x", "s = |z|², squared norm of a fused template");
  figure.Label("y", "factor that brings z to unit length");
  figure.Mark(f.interval.lo);
  figure.Mark(f.interval.hi);
  const std::string rows = CurveRows(f, shown);
  figure.Curve(rows, "using 1:3 with lines", Style(kPlain, 5), "1/√s");
  figure.Curve(rows, "using 1:2 with lines", Style(kEncrypted, 2, 2),
               absl::StrCat("f(s), degree ", f.Degree()));
  figure.Finish();
}

void DrawRelativeError(GnuplotJob* job, const Evaluation& e) {
  const Approximation& f = e.model.approximation;
  const Interval shown = ShownNorms(e);
  const double worst = 100 * f.MaxRelativeError();
  const Bins norms = Bin(e.squared_norms, shown.lo, shown.hi, 40);
  Figure figure(job, "relative_error");
  figure.Line(absl::StrFormat("set xrange [%.6g:%.6g]", shown.lo, shown.hi));
  figure.Line(absl::StrFormat("set yrange [%.6g:%.6g]", -2.2 * worst, 2.2 * worst));
  figure.Line(absl::StrFormat("set y2range [0:%.6g]", 1.8 * norms.Largest()));
  figure.Label("x", "s = |z|², squared norm of a fused template");
  figure.Label("y", "error of f against 1/√s, %");
  figure.Mark(f.interval.lo);
  figure.Mark(f.interval.hi);
  figure.Curve(norms.Rows(), "axes x1y2 with boxes", Fill(kSecond), "samples");
  figure.Curve(CurveRows(f, shown), "using 1:4 with lines", Style(kEncrypted, 2), "f(s) √s − 1");
  figure.Finish();
}

void DrawScoreError(GnuplotJob* job, const Evaluation& e) {
  std::vector<double> errors;
  auto add = [&](const std::vector<double>& plain, const std::vector<double>& encrypted) {
    for (size_t i = 0; i < plain.size(); ++i) errors.push_back(encrypted[i] - plain[i]);
  };
  add(e.plain.genuine, e.encrypted.genuine);
  add(e.plain.impostor, e.encrypted.impostor);
  double range = 1e-9;
  for (double error : errors) range = std::max(range, std::abs(error));
  constexpr double kUnit = 1e4;
  Figure figure(job, "score_error");
  figure.Line("set key off");
  figure.Line("set yrange [0:*]");
  figure.Line(absl::StrFormat("set xrange [%.6g:%.6g]", -range * kUnit, range * kUnit));
  figure.Label("x", "encrypted minus plain score, in units of 0.0001");
  figure.Label("y", "share of pairs, %");
  figure.Curve(Bin(errors, -range, range, 61).Rows(kUnit, 100), "with boxes", Fill(kPlain), "");
  figure.Finish();
}

void DrawNorms(GnuplotJob* job, const Evaluation& e) {
  const Interval& interval = e.model.approximation.interval;
  double lo = interval.lo, hi = interval.hi;
  auto include = [&](const std::vector<double>& norms) {
    const auto [least, largest] = std::minmax_element(norms.begin(), norms.end());
    lo = std::min(lo, *least);
    hi = std::max(hi, *largest);
  };
  include(e.squared_norms);
  for (const std::vector<double>& norms : e.partial_norms) include(norms);
  Figure figure(job, "norms");
  figure.Line("set yrange [0:*]");
  figure.Line(absl::StrFormat("set xrange [0:%.6g]", 1.05 * hi));
  figure.Label("x", "s = |z|², squared norm of a fused template");
  figure.Label("y", "share of samples, %");
  figure.Mark(interval.lo);
  figure.Mark(interval.hi);
  constexpr int kBins = 60;
  auto draw = [&](const std::vector<double>& norms, const std::string& how,
                  const std::string& style, const std::string& title) {
    figure.Curve(Bin(norms, 0, 1.05 * hi, kBins).Rows(1, 100), how, style, title);
  };
  draw(e.squared_norms, "with boxes", Fill(kPlain), "whole samples");
  const Colour colours[] = {kEncrypted, kThird, kFirst};
  for (size_t m = 0; m < e.partial_norms.size(); ++m) {
    draw(e.partial_norms[m], "with histeps", Style(colours[m % 3], 2),
         absl::StrCat(e.model.modalities[m].name, " only"));
  }
  figure.Finish();
}

// Draws one figure and gives it as an element of a page.
absl::StatusOr<std::string> DrawOne(const GnuplotJob& job, std::string_view description) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  return InlineSvg(drawn[0], description);
}

// Segments "x y dx dy" of a row: its interval, and short verticals at its mean and its folds.
std::string Segment(double x, double y, double dx, double dy) {
  return absl::StrFormat("%.9g %.9g %.9g %.9g\n", x, y, dx, dy);
}

}  // namespace

absl::StatusOr<Plots> DrawPlots(const Evaluation& evaluation) {
  GnuplotJob job;
  DrawRoc(&job, evaluation);
  DrawApproximation(&job, evaluation);
  DrawRelativeError(&job, evaluation);
  DrawScoreError(&job, evaluation);
  if (!evaluation.partial_norms.empty()) DrawNorms(&job, evaluation);
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  Plots plots;
  std::string* const targets[] = {&plots.roc, &plots.approximation, &plots.relative_error,
                                  &plots.score_error, &plots.norms};
  const char* const descriptions[] = {
      "ROC curves", "The approximation and one over the square root",
      "Relative error of the approximation over the histogram of squared norms",
      "Histogram of encrypted minus plain scores",
      "Histograms of squared norms of whole samples and of such that lack modalities"};
  for (size_t i = 0; i < drawn.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(*targets[i], InlineSvg(drawn[i], descriptions[i]));
  }
  HEFT_ASSIGN_OR_RETURN(plots.judgement,
                        DrawJudgement(evaluation.judgement, &plots.judgement_files));
  if (const std::optional<GammaTrials> trials = GammaTrialsOf(evaluation.model)) {
    HEFT_ASSIGN_OR_RETURN(plots.gamma, DrawGamma(*trials));
  }
  return plots;
}

absl::StatusOr<std::string> DrawIntervals(const std::vector<IntervalBar>& bars) {
  GnuplotJob job;
  Figure figure(&job, "intervals");
  figure.Line("set key off");
  figure.Line(absl::StrFormat("set tics font ',%d'", bars.size() > 20 ? 9 : 11));
  // gnuplot leaves room for labels of its standard size.
  size_t longest = 0;
  for (const IntervalBar& bar : bars) longest = std::max(longest, bar.label.size());
  const double character = bars.size() > 20 ? 0.0085 : 0.0102;
  figure.Line(absl::StrFormat("set lmargin at screen %.3f",
                              std::min(0.6, 0.04 + character * static_cast<double>(longest))));
  figure.Line(absl::StrFormat("set yrange [%g:%g]", bars.size() + 0.6, 0.4));
  figure.Label("x", "AUROC");
  std::vector<std::string> tics;
  std::string folds, rows[2];
  for (size_t i = 0; i < bars.size(); ++i) {
    const double y = static_cast<double>(i + 1);
    const Estimate& e = bars[i].auroc;
    tics.push_back(absl::StrCat(GnuplotQuote(bars[i].label), " ", i + 1));
    std::string& own = rows[bars[i].encrypted ? 1 : 0];
    absl::StrAppend(&own, Segment(e.lo, y, e.hi - e.lo, 0), Segment(e.value, y - 0.3, 0, 0.6));
    for (double fold : bars[i].by_fold) absl::StrAppend(&folds, Segment(fold, y - 0.12, 0, 0.24));
  }
  figure.Line(absl::StrCat("set ytics (", absl::StrJoin(tics, ", "), ")"));
  auto draw = [&](const std::string& segments, Colour colour, double width) {
    if (!segments.empty()) figure.Curve(segments, "with vectors nohead", Style(colour, width), "");
  };
  draw(folds, kMuted, 1.5);
  draw(rows[0], kPlain, 3);
  draw(rows[1], kEncrypted, 3);
  figure.Finish();
  return DrawOne(job, "AUROC of every system with its interval and its folds");
}

}  // namespace heft::experiment

namespace heft {

absl::StatusOr<std::string> DrawLearningCurve(std::span<const LearnEpoch> curve, int best_epoch) {
  using namespace experiment;  // NOLINT: of this room
  GnuplotJob job;
  Figure figure(&job, "training");
  figure.Label("x", "epoch");
  figure.Label("y", "AUROC");
  figure.Mark(best_epoch);
  auto draw = [&](double LearnEpoch::*auroc, Colour colour, const std::string& title) {
    std::string rows;
    for (const LearnEpoch& e : curve) absl::StrAppendFormat(&rows, "%d %.9g\n", e.epoch, e.*auroc);
    figure.Curve(rows, "with lines", Style(colour, 3), title);
  };
  draw(&LearnEpoch::train_auroc, kPlain, "people trained on");
  draw(&LearnEpoch::val_auroc, kEncrypted, "people held out");
  figure.Finish();
  HEFT_ASSIGN_OR_RETURN(const std::string picture,
                        DrawOne(job, "AUROC of training and validation people by epoch"));
  return SvgFile(picture);
}

}  // namespace heft
