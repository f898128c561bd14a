// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiment/figure.h"
#include "experiment/judgement.h"
#include "experiment/page.h"
#include "experiment/rate_plots.h"

namespace heft::experiment {
namespace {

constexpr Colour kByTemplates[] = {kPlain, kEncrypted, kThird};

// One picture of DrawJudgement, with its title and caption.
struct Drawing {
  std::string name, title, caption;
};

void LogRates(Figure& figure, const char* axis) {
  figure.Line(absl::StrCat("set logscale ", axis));
  figure.Line(absl::StrCat("set ", axis,
                           "tics ('10⁻⁴' 1e-4, '10⁻³' 1e-3, '0.01' 0.01, '0.02' 0.02, '0.05' 0.05, "
                           "'0.1' 0.1, '0.2' 0.2, '0.5' 0.5, '1' 1)"));
}

void DrawReliability(GnuplotJob* job, const EvidenceQuality& evidence) {
  Figure figure(job, "reliability");
  figure.Line("set xrange [-10:10]");
  figure.Line("set yrange [-10:10]");
  figure.Label("x", "log-likelihood ratio that the model states");
  figure.Label("y", "observed in comparisons of this bin");
  std::string points, bars;
  for (const EvidenceBin& bin : evidence.reliability) {
    if (!std::isfinite(bin.observed)) continue;
    const double lo = std::max(bin.lo, -20.0), hi = std::min(bin.hi, 20.0);
    absl::StrAppendFormat(&bars, "%.6g %.6g 0 %.6g\n", bin.stated, lo, hi - lo);
    absl::StrAppendFormat(&points, "%.6g %.6g 0.5 0\n", bin.stated - 0.25, bin.observed);
  }
  figure.Curve("-10 -10\n10 10\n", "with lines", Style(kMuted, 1.5, 2), "as stated");
  if (!points.empty()) {
    figure.Curve(bars, "with vectors nohead", Style(kEncrypted, 1.5), "observed, 95% interval");
    figure.Curve(points, "with vectors nohead", Style(kEncrypted, 4), "");
  }
  figure.Finish();
}

// With the model's thresholds, as they turned out.
absl::Status DrawDet(GnuplotJob* job, const Judgement& judgement) {
  std::vector<RateCurve> curves;
  const bool both = !judgement.plain.genuine.empty();
  if (both) {
    HEFT_ASSIGN_OR_RETURN(std::vector<RocPoint> plain, Roc(judgement.plain));
    curves.push_back({"plain", std::move(plain), true});
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<RocPoint> points, Roc(judgement.scores));
  curves.push_back({both ? "encrypted" : "one comparison", std::move(points)});
  for (const RateCheck& check : judgement.comparisons) {
    if (!check.refused.empty()) continue;
    curves.back().marks.push_back({check.threshold, check.measured.value, 1 - check.missed.value});
  }
  DrawDet(job, "det", curves);
  return absl::OkStatus();
}

void DrawScores(GnuplotJob* job, const Judgement& judgement) {
  std::vector<ScoreMark> marks;
  for (const RateCheck& check : judgement.comparisons) {
    if (check.refused.empty()) {
      marks.push_back({check.threshold, absl::StrCat("FMR ", check.asked)});
    }
  }
  const bool both = !judgement.plain.genuine.empty();
  DrawScores(job, "scores", {&judgement.scores, both ? &judgement.plain : nullptr}, marks);
}

std::string Enrolled(const SearchCurve& curve) {
  return absl::StrCat(curve.templates, curve.templates == 1 ? " template" : " templates",
                      " a person");
}

void DrawSearches(GnuplotJob* job, const std::vector<SearchCurve>& curves) {
  Figure figure(job, "searches");
  LogRates(figure, "x");
  figure.Line("set xrange [0.001:1]");
  figure.Line("set yrange [0:1]");
  figure.Label("x", "FPIR: searches by strangers that return a name");
  figure.Label("y", "FNIR: enrolled people not named");
  for (size_t k = 0; k < curves.size(); ++k) {
    std::string rows;
    const SearchErrors& e = curves[k].errors;
    // A point wherever the curve has moved by a three-hundredth of the picture.
    constexpr double kStep = 1.0 / 300, kDecades = 3;
    double fpir = 10, fnir = -1;
    for (size_t i = 0; i < e.thresholds.size() && e.fpir[i] > 0; ++i) {
      if (std::log10(fpir / e.fpir[i]) / kDecades < kStep && e.fnir[i] - fnir < kStep) continue;
      fpir = e.fpir[i];
      fnir = e.fnir[i];
      absl::StrAppendFormat(&rows, "%.4g %.4g\n", fpir, fnir);
    }
    figure.Curve(rows, "with lines", Style(kByTemplates[k % 3], 3), Enrolled(curves[k]));
  }
  figure.Finish();
}

void DrawRanks(GnuplotJob* job, const std::vector<SearchCurve>& curves) {
  constexpr size_t kRanks = 20;
  Figure figure(job, "ranks");
  figure.Line(absl::StrFormat("set xrange [1:%d]", kRanks));
  figure.Line("set yrange [*:1]");
  figure.Label("x", "rank");
  figure.Label("y", "share of people found by this rank");
  for (size_t k = 0; k < curves.size(); ++k) {
    std::string rows;
    const std::vector<double>& rates = curves[k].errors.match_rates;
    for (size_t rank = 1; rank <= kRanks; ++rank) {
      absl::StrAppendFormat(&rows, "%d %.6g\n", rank, rates[std::min(rank, rates.size()) - 1]);
    }
    figure.Curve(rows, "with lines", Style(kByTemplates[k % 3], 3), Enrolled(curves[k]));
  }
  figure.Finish();
}

}  // namespace

absl::StatusOr<std::vector<PageFigure>> DrawJudgement(const Judgement& judgement,
                                                      std::vector<std::string>* names) {
  GnuplotJob job;
  std::vector<Drawing> drawings;
  if (!judgement.scores.genuine.empty()) {
    HEFT_RETURN_IF_ERROR(DrawDet(&job, judgement));
    drawings.push_back(
        {"det", "Detection error trade-off.",
         "One comparison of a probe with a template; both axes have the scale of normal deviates. "
         "Dots: the model's thresholds. On the dotted line both errors are equal."});
    DrawScores(&job, judgement);
    drawings.push_back({"scores", "Scores.",
                        judgement.plain.genuine.empty()
                            ? "Dashed: the model's thresholds, with the requested FMR."
                            : "Areas are plain, outlines encrypted. Dashed: the model's "
                              "thresholds, with the requested FMR."});
  }
  if (judgement.evidence) {
    DrawReliability(&job, *judgement.evidence);
    drawings.push_back({"reliability", "Reliability.",
                        "Comparisons in bins of the stated likelihood ratio. On the dashed line "
                        "the observed ratio equals the stated one."});
  }
  if (!judgement.curves.empty()) {
    DrawSearches(&job, judgement.curves);
    drawings.push_back({"searches", "Open-set searches.",
                        "Half of the people are enrolled. One threshold for all searches."});
    DrawRanks(&job, judgement.curves);
    drawings.push_back({"ranks", "Cumulative match characteristic.",
                        "Searches by enrolled people, at any score."});
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  std::vector<PageFigure> figures;
  for (size_t k = 0; k < drawn.size(); ++k) {
    HEFT_ASSIGN_OR_RETURN(std::string svg, InlineSvg(drawn[k], drawings[k].title));
    figures.push_back({std::move(svg), drawings[k].title, drawings[k].caption});
    if (names != nullptr) names->push_back(drawings[k].name + ".svg");
  }
  return figures;
}

}  // namespace heft::experiment
