// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/rate_plots.h"
#include "experiment/reports.h"
#include "experiment/score_measures.h"

namespace heft::experiment {
namespace {

// RateJson: a number where the list names no people, with its interval otherwise.
Json RateJson(const ScoredCurve& curve, const Estimate& e) {
  return curve.people == 0 ? Json(e.value) : EstimateJson(e);
}

Json CurveJson(const ScoredCurve& curve) {
  Json points = Json::array();
  for (const RocPoint& p : curve.roc) {
    if (!std::isfinite(p.threshold)) continue;
    points.push_back(Json::array({p.threshold, p.fmr, 1 - p.tmr}));
  }
  return points;
}

Json SystemJson(const ScoredCurve& curve, bool with_curve) {
  Json json = {{"name", curve.name},
               {"genuine_comparisons", curve.measured.genuine},
               {"impostor_comparisons", curve.measured.impostor},
               {"failed_comparisons", curve.failed},
               {"auroc", RateJson(curve, curve.measured.auroc)},
               {"eer", RateJson(curve, curve.measured.eer)},
               {"eer_threshold", curve.eer_threshold},
               {"points", Json::array()}};
  if (curve.people > 0) json["people"] = curve.people;
  for (const OperatingPoint& point : curve.points) {
    Json entry = {{"asked", point.asked}, {"reached", point.reached}};
    if (point.reached) {
      entry["threshold"] = point.threshold;
      entry["fmr"] = RateJson(curve, point.fmr);
      entry["fnmr"] = RateJson(curve, point.fnmr);
    }
    json["points"].push_back(std::move(entry));
  }
  if (with_curve) json["curve"] = CurveJson(curve);
  return json;
}

std::string RateText(const ScoredCurve& curve, const Estimate& e) {
  if (curve.people == 0) return absl::StrFormat("%.4g", e.value);
  return absl::StrFormat("%.4g [%.3g, %.3g]", e.value, e.lo, e.hi);
}

std::string SystemText(const ScoredCurve& curve) {
  std::string text = absl::StrFormat("%s: %d genuine and %d impostor comparisons", curve.name,
                                     curve.measured.genuine, curve.measured.impostor);
  if (curve.people > 0) absl::StrAppend(&text, " of ", curve.people, " people");
  if (curve.failed > 0) absl::StrAppend(&text, "; ", curve.failed, " failed");
  absl::StrAppendFormat(&text, "\n  AUROC %s, EER %s at threshold %.6g\n",
                        RateText(curve, curve.measured.auroc), RateText(curve, curve.measured.eer),
                        curve.eer_threshold);
  for (const OperatingPoint& point : curve.points) {
    absl::StrAppendFormat(&text, "  requested FMR %g: ", point.asked);
    if (!point.reached) {
      text += "no threshold: an impostor has the highest score\n";
      continue;
    }
    absl::StrAppendFormat(&text, "threshold %.6g, FMR %s, FNMR %s\n", point.threshold,
                          RateText(curve, point.fmr), RateText(curve, point.fnmr));
  }
  return text;
}

std::string RateCell(const ScoredCurve& curve, const Estimate& e) {
  const auto text = [](double rate) { return absl::StrFormat("%.3g", rate); };
  if (curve.people == 0) return text(e.value);
  return WithInterval(text(e.value), text(e.lo), text(e.hi));
}

void AddSystems(const ScoreMeasures& measures, Page& page) {
  PageTable table{{{"Scores"}, {"Genuine"}, {"Impostor"}, {"AUROC"}, {"EER"}, {"Its threshold"}}};
  for (const ScoredCurve& curve : measures.curves) {
    const ComparisonEstimate& m = curve.measured;
    const auto cell = [&](const Estimate& e) {
      if (curve.people == 0) return Fixed(e.value, 4);
      return WithInterval(Fixed(e.value, 4), Fixed(e.lo, 4), Fixed(e.hi, 4));
    };
    table.rows.push_back({{EscapeHtml(curve.name), Count(m.genuine), Count(m.impostor),
                           cell(m.auroc), cell(m.eer), Fixed(curve.eer_threshold, 3)},
                          !curve.plain});
  }
  table.caption = absl::StrCat(
      "AUROC: the probability that a genuine comparison scores higher than an impostor one. EER: "
      "where FMR and FNMR are equal. Small, if scores name people: 95% intervals from ",
      Count(measures.options.replicates), " bootstrap replicates over people.");
  page.Table(table);
}

void AddPoints(const ScoreMeasures& measures, Page& page) {
  page.Heading("Thresholds");
  PageTable table{{{"Scores"}, {"Requested FMR"}, {"Threshold"}, {"FMR"}, {"FNMR"}}};
  for (const ScoredCurve& curve : measures.curves) {
    for (const OperatingPoint& point : curve.points) {
      std::vector<std::string> cells = {EscapeHtml(curve.name), absl::StrFormat("%g", point.asked)};
      if (point.reached) {
        cells.insert(cells.end(), {Fixed(point.threshold, 4), RateCell(curve, point.fmr),
                                   RateCell(curve, point.fnmr)});
      } else {
        cells.insert(cells.end(), {"none", "", ""});
      }
      table.rows.push_back({std::move(cells)});
    }
  }
  table.caption =
      "The lowest threshold that keeps the requested rate on these comparisons; on others it will "
      "be somewhat higher. FMR: the share of impostor comparisons that reach the threshold. FNMR: "
      "the share of genuine comparisons that do not (ISO/IEC 19795-1).";
  page.Table(table);
}

void AddChanges(const ScoreMeasures& measures, Page& page) {
  if (measures.changes.empty()) return;
  page.Heading("The effect of encryption");
  for (const ScoreChange& change : measures.changes) {
    const auto with_interval = [](const Estimate& e) {
      return absl::StrCat(Signed(e.value, 6), ", 95% interval ", Signed(e.lo, 6), " to ",
                          Signed(e.hi, 6));
    };
    page.Subheading(measures.curves[change.curve].name);
    page.Facts({{"AUROC, encrypted minus plain", with_interval(change.auroc)},
                {"FNMR at FMR 0.01, encrypted minus plain", with_interval(change.fnmr_1e2)},
                {"Score, largest difference", Significant(change.largest)},
                {"Score, rms difference", Significant(change.rms)}});
  }
}

// DrawAll: the curves of all systems together, and the scores of each.
absl::StatusOr<std::vector<PageFigure>> DrawAll(
    const ScoreMeasures& measures, std::vector<std::pair<std::string, std::string>>* pictures) {
  GnuplotJob job;
  std::vector<RateCurve> curves;
  for (const ScoredCurve& curve : measures.curves) {
    RateCurve& rates = curves.emplace_back(RateCurve{curve.name, curve.roc, curve.plain});
    for (const OperatingPoint& point : curve.points) {
      if (point.reached) rates.marks.push_back({0, point.fmr.value, 1 - point.fnmr.value});
    }
  }
  DrawDet(&job, "det", curves);
  DrawRoc(&job, "roc", curves);
  std::vector<PageFigure> figures = {
      {"", "Detection error trade-off.",
       "Both axes have the scale of normal deviates; dots are the thresholds below. On the dotted "
       "line both errors are equal."},
      {"", "ROC.", "The FMR axis is logarithmic."}};
  for (size_t i = 0; i < measures.curves.size(); ++i) {
    const ScoredCurve& curve = measures.curves[i];
    if (curve.plain) continue;
    const bool paired = i + 1 < measures.curves.size() && measures.curves[i + 1].plain;
    std::vector<ScoreMark> marks;
    for (const OperatingPoint& point : curve.points) {
      if (point.reached) marks.push_back({point.threshold, absl::StrFormat("%g", point.asked)});
    }
    DrawScores(&job, absl::StrCat("scores", i),
               {&curve.scores, paired ? &measures.curves[i + 1].scores : nullptr}, marks);
    figures.push_back({"", absl::StrCat("Scores of ", curve.name, "."),
                       absl::StrCat(paired ? "Areas are plain, outlines encrypted. " : "",
                                    "Dashed: thresholds, with the requested FMR.")});
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  for (size_t i = 0; i < drawn.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(figures[i].svg, InlineSvg(drawn[i], figures[i].title));
    pictures->emplace_back(job.outputs[i], SvgFile(figures[i].svg));
  }
  return figures;
}

}  // namespace

Json ToJson(const ScoreMeasures& measures) {
  Json json = {{"replicates", measures.options.replicates}, {"systems", Json::array()}};
  for (const ScoredCurve& curve : measures.curves) {
    json["systems"].push_back(SystemJson(curve, measures.options.curve));
  }
  json["encrypted_minus_plain"] = Json::array();
  for (const ScoreChange& change : measures.changes) {
    json["encrypted_minus_plain"].push_back({{"name", measures.curves[change.curve].name},
                                             {"auroc", EstimateJson(change.auroc)},
                                             {"fnmr_at_fmr_1e-2", EstimateJson(change.fnmr_1e2)},
                                             {"max_score", change.largest},
                                             {"rms_score", change.rms}});
  }
  json["warnings"] = measures.warnings;
  return json;
}

std::string ToText(const ScoreMeasures& measures) {
  std::string text;
  for (const ScoredCurve& curve : measures.curves) absl::StrAppend(&text, SystemText(curve));
  for (const ScoreChange& change : measures.changes) {
    absl::StrAppendFormat(&text,
                          "%s, encrypted minus plain: AUROC %+.6f [%+.6f, %+.6f], scores rms %.1e, "
                          "at most %.1e\n",
                          measures.curves[change.curve].name, change.auroc.value, change.auroc.lo,
                          change.auroc.hi, change.rms, change.largest);
  }
  return text;
}

absl::StatusOr<std::string> MakeScoreReport(
    const ScoreMeasures& measures, std::vector<std::pair<std::string, std::string>>* pictures) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<PageFigure> figures, DrawAll(measures, pictures));
  Page page("HEFT: scores");
  page.Title("Comparisons and their error rates");
  std::vector<std::string> warnings;
  for (const std::string& warning : measures.warnings) warnings.push_back(warning + ".");
  page.List(warnings, "warnings");
  AddSystems(measures, page);
  page.Heading("Pictures");
  page.Figures(figures);
  AddPoints(measures, page);
  AddChanges(measures, page);
  page.Reproduce(measures.options.command);
  return page.Finish();
}

}  // namespace heft::experiment

namespace heft {

absl::StatusOr<Report> MeasureScores(std::span<const NamedScores> systems,
                                     const ScoreOptions& options, const Monitor& monitor) {
  if (options.page || options.pictures) HEFT_RETURN_IF_ERROR(CheckDrawing());
  HEFT_ASSIGN_OR_RETURN(const experiment::ScoreMeasures measures,
                        experiment::MeasureTables(monitor, systems, options));
  Report report{experiment::ToJson(measures), experiment::ToText(measures)};
  report.warnings = measures.warnings;
  if (!options.page && !options.pictures) return report;
  HEFT_ASSIGN_OR_RETURN(report.page, experiment::MakeScoreReport(measures, &report.pictures));
  return report;
}

}  // namespace heft
