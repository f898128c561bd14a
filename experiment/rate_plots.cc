// SPDX-License-Identifier: Apache-2.0
#include "experiment/rate_plots.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiment/judgement.h"

namespace heft::experiment {
namespace {

constexpr double kLowestFmr = 1e-4, kLowestFnmr = 1e-3, kHighestRate = 0.9;
constexpr Colour kSystems[] = {kEncrypted, kThird, kSecond, kFirst};

// A curve that others are held against is broad, and theirs lie on it.
std::string StyleOf(const RateCurve& curve, size_t number) {
  if (curve.plain) return Style(kPlain, 6);
  return Style(kSystems[number % 4], 2.5, 1 + static_cast<int>(number / 4));
}

// DrawCurves: each by `rows`, those that are plain first.
template <typename Rows>
void DrawCurves(Figure* figure, std::span<const RateCurve> curves, const std::string& how,
                const Rows& rows) {
  size_t number = 0;
  for (bool plain : {true, false}) {
    for (const RateCurve& curve : curves) {
      if (curve.plain != plain) continue;
      figure->Curve(rows(ThinForDrawing(curve.points)), how, StyleOf(curve, number), curve.label);
      number += !plain;
    }
  }
}

// DeviateAxis: ticks and range of an axis of normal deviates. gnuplot takes labels for formats: %%
// is a per cent sign.
void DeviateAxis(Figure* figure, const char* axis, double lowest) {
  figure->Line(
      absl::StrFormat("set %srange [invnorm(%g):invnorm(%g)]", axis, lowest, kHighestRate));
  figure->Line(absl::StrCat("set ", axis,
                            "tics ('0.01%%' invnorm(1e-4), '0.1%%' invnorm(1e-3), '1%%' "
                            "invnorm(0.01), '5%%' invnorm(0.05), "
                            "'20%%' invnorm(0.2), '50%%' invnorm(0.5), '80%%' invnorm(0.8))"));
}

std::string DeviateRow(const RocPoint& p) {
  const auto inside = [](double rate) { return std::clamp(rate, 1e-7, 1 - 1e-7); };
  return absl::StrFormat("%.7g %.7g\n", inside(p.fmr), inside(1 - p.tmr));
}

}  // namespace

void DrawDet(GnuplotJob* job, const std::string& name, std::span<const RateCurve> curves) {
  Figure figure(job, name);
  DeviateAxis(&figure, "x", kLowestFmr);
  DeviateAxis(&figure, "y", kLowestFnmr);
  figure.Label("x", "FMR: impostor comparisons accepted");
  figure.Label("y", "FNMR: genuine ones rejected");
  figure.Curve("-3 -3\n1.2 1.2\n", "with lines", Style(kMuted, 1, 3), "");
  DrawCurves(&figure, curves, "using (invnorm($1)):(invnorm($2)) with lines",
             [](const std::vector<RocPoint>& points) {
               std::string rows;
               for (const RocPoint& p : points) rows += DeviateRow(p);
               return rows;
             });
  std::string marks;
  for (const RateCurve& curve : curves) {
    if (curve.plain) continue;
    for (const RocPoint& p : curve.marks) marks += DeviateRow(p);
  }
  if (!marks.empty()) {
    figure.Curve(marks, "using (invnorm($1)):(invnorm($2)):(0.035) with circles fill solid 1",
                 Fill(kInk), "");
  }
  figure.Finish();
}

void DrawRoc(GnuplotJob* job, const std::string& name, std::span<const RateCurve> curves) {
  Figure figure(job, name);
  figure.Line("set logscale x");
  figure.Line(absl::StrFormat("set xrange [%g:1]", kLowestFmr));
  figure.Line("set yrange [0:1]");
  figure.Line("set xtics ('10⁻⁴' 1e-4, '10⁻³' 1e-3, '0.01' 0.01, '0.1' 0.1, '1' 1)");
  figure.Label("x", "FMR: impostor comparisons accepted");
  figure.Label("y", "TMR: genuine ones accepted");
  DrawCurves(&figure, curves, "with steps", [](const std::vector<RocPoint>& points) {
    std::string rows;
    for (const RocPoint& p : points) {
      absl::StrAppendFormat(&rows, "%.6g %.6g\n", std::max(p.fmr, kLowestFmr / 10), p.tmr);
    }
    return rows;
  });
  figure.Finish();
}

void DrawScores(GnuplotJob* job, const std::string& name, const ScoreHistogram& histogram,
                std::span<const ScoreMark> marks) {
  double lo = INFINITY, hi = -INFINITY;
  for (const ScoreSet* set : {histogram.scores, histogram.plain}) {
    if (set == nullptr) continue;
    for (const auto* kind : {&set->genuine, &set->impostor}) {
      const auto [least, largest] = std::minmax_element(kind->begin(), kind->end());
      lo = std::min(lo, *least);
      hi = std::max(hi, *largest);
    }
  }
  hi = std::max(hi, lo + 1e-6 * std::max(1.0, std::abs(lo)));
  constexpr int kBins = 60;
  Figure figure(job, name);
  figure.Line(absl::StrFormat("set xrange [%.6g:%.6g]", lo, hi));
  figure.Label("x", "score");
  figure.Label("y", "share of comparisons, %");
  // Texts stand above the drawing, to the left of a mark where there is no room to its right.
  constexpr double kRow = 0.075, kHighest = 0.97;
  for (size_t k = 0; k < marks.size(); ++k) {
    const bool right = marks[k].score < lo + 0.75 * (hi - lo);
    figure.Mark(marks[k].score, marks[k].text, kHighest - kRow * static_cast<double>(k % 4),
                right ? "left offset character 0.4,0" : "right offset character -0.4,0");
  }
  double highest = 0;
  const auto draw = [&](const std::vector<double>& values, const std::string& how,
                        const std::string& style, const std::string& title) {
    const Bins bins = Bin(values, lo, hi, kBins);
    highest = std::max(highest, bins.Largest());
    figure.Curve(bins.Rows(1, 100), how, style, title);
  };
  const ScoreSet& areas = histogram.plain == nullptr ? *histogram.scores : *histogram.plain;
  const std::string how = histogram.plain == nullptr ? "" : ", plain";
  draw(areas.impostor, "with boxes", Fill(kSecond), "impostor" + how);
  draw(areas.genuine, "with boxes", Fill(kPlain), "genuine" + how);
  if (histogram.plain != nullptr) {
    draw(histogram.scores->impostor, "with histeps", Style(kInk, 1), "encrypted, both kinds");
    draw(histogram.scores->genuine, "with histeps", Style(kInk, 1), "");
  }
  const double room = 1 - kRow * static_cast<double>(std::min<size_t>(marks.size(), 4)) - 0.04;
  figure.Line(absl::StrFormat("set yrange [0:%.6g]", 100 * highest / room));
  figure.Finish();
}

double Bins::Centre(size_t i) const {
  return lo + (static_cast<double>(i) + 0.5) * (hi - lo) / static_cast<double>(share.size());
}

double Bins::Largest() const { return *std::max_element(share.begin(), share.end()); }

std::string Bins::Rows(double x_scale, double y_scale) const {
  std::string rows;
  for (size_t i = 0; i < share.size(); ++i) {
    absl::StrAppendFormat(&rows, "%.9g %.9g\n", Centre(i) * x_scale, share[i] * y_scale);
  }
  return rows;
}

Bins Bin(std::span<const double> values, double lo, double hi, int bins) {
  Bins result{lo, hi, std::vector<double>(static_cast<size_t>(bins), 0.0)};
  for (double v : values) {
    const double bin = std::floor((v - lo) / (hi - lo) * bins);
    const double kept = std::clamp(bin, 0.0, static_cast<double>(bins - 1));
    result.share[static_cast<size_t>(kept)] += 1.0 / static_cast<double>(values.size());
  }
  return result;
}

}  // namespace heft::experiment
