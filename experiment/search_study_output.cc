// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/search_study.h"

namespace heft::experiment {
namespace {

std::string Times(double ratio) { return absl::StrFormat("%.2f", ratio); }

bool Answered(const StudyRow& row) { return row.draws > row.refused; }

std::string Draw(const SearchStudy& study, GnuplotJob* job) {
  Figure figure(job, "galleries");
  figure.Line("set logscale xy");
  figure.Line("set xrange [7:14000]");
  figure.Line("set yrange [0.2:5]");
  figure.Line("set xtics ('10' 10, '100' 100, '1,000' 1000, '10,000' 10000)");
  figure.Line("set ytics ('0.2' 0.2, '0.5' 0.5, '1' 1, '2' 2, '5' 5)");
  figure.Label("x", "people in the gallery");
  figure.Label("y", "measured FPIR over requested FPIR");
  figure.Curve("7 1\n14000 1\n", "with lines", Style(kMuted, 1.5, 2), "");
  const Colour colours[] = {kPlain, kEncrypted, kThird, kSecond};
  size_t series = 0;
  for (uint64_t on : study.options.calibrate_on) {
    for (double asked : {1e-1, 1e-2}) {
      std::string points, bars;
      const double aside = 1 + 0.05 * static_cast<double>(series);
      for (const StudyRow& row : study.rows) {
        if (row.calibrated_on != on || row.asked != asked || !Answered(row)) continue;
        const double x = static_cast<double>(row.people) * aside;
        absl::StrAppendFormat(&points, "%.6g %.6g\n", x, row.ratio);
        absl::StrAppendFormat(&bars, "%.6g %.6g 0 %.6g\n", x, row.lo, row.hi - row.lo);
      }
      const Colour colour = colours[series++ % 4];
      if (points.empty()) continue;
      figure.Curve(bars, "with vectors nohead", Style(colour, 1.5), "");
      figure.Curve(points, "with lines", Style(colour, 3), absl::StrFormat("%g, on %d", asked, on));
    }
  }
  figure.Finish();
  return "galleries";
}

std::string Summary(const SearchStudy& study) {
  return absl::StrFormat(
      "%d draws of people from %d %s with the statistics of the data's: thresholds fitted on some, "
      "false positives of 4,000 strangers in galleries of others",
      study.options.draws, study.laws, study.laws == 1 ? "law" : "laws (a model each)");
}

PageTable StudyTable(const SearchStudy& study) {
  PageTable table{{{"Requested FPIR"},
                   {"Calibrated on people"},
                   {"Gallery"},
                   {"Measured over requested"},
                   {"Interval said"},
                   {"Held"},
                   {"Refused"}}};
  for (const StudyRow& row : study.rows) {
    std::vector<std::string> cells = {absl::StrFormat("%g", row.asked), Count(row.calibrated_on),
                                      Count(row.people)};
    if (Answered(row)) {
      cells.push_back(WithInterval(Times(row.ratio), Times(row.lo), Times(row.hi)));
      cells.push_back(absl::StrCat(Times(row.predicted_lo), " to ", Times(row.predicted_hi)));
      cells.push_back(absl::StrCat(row.held, " of ", row.draws - row.refused));
    } else {
      cells.resize(6);
    }
    cells.push_back(row.refused == 0 ? "" : absl::StrCat(row.refused, " of ", row.draws));
    table.rows.push_back({std::move(cells)});
  }
  table.caption =
      "Geometric means over the draws; small: 95% of the draws. “Interval said” is the interval of "
      "the threshold; “held” is the share of draws in which it contained the measured rate. "
      "Refused: too rare for the comparisons of the calibration.";
  return table;
}

}  // namespace

Json ToJson(const SearchStudy& study) {
  Json rows = Json::array(), checks = Json::array();
  for (const StudyRow& row : study.rows) {
    Json entry = {{"asked", row.asked},
                  {"calibrated_on", row.calibrated_on},
                  {"people", row.people},
                  {"draws", row.draws},
                  {"refused", row.refused}};
    if (!row.reason.empty()) entry["reason"] = row.reason;
    if (Answered(row)) {
      entry["ratio"] = {{"value", row.ratio}, {"lo", row.lo}, {"hi", row.hi}};
      entry["interval_said"] = {row.predicted_lo, row.predicted_hi};
      entry["held"] = row.held;
    }
    rows.push_back(std::move(entry));
  }
  for (const LawCheck& check : study.checks) {
    checks.push_back({{"share_of_data", check.data}, {"share_of_law", check.law}});
  }
  return {{"draws", study.options.draws},
          {"laws", study.laws},
          {"law_checks", checks},
          {"searches", rows}};
}

std::string ToText(const SearchStudy& study) {
  std::string text = Summary(study) + "\n";
  for (const LawCheck& check : study.checks) {
    absl::StrAppendFormat(&text,
                          "a score that %g of the data's comparisons reach: %.2g of the law's\n",
                          check.data, check.law);
  }
  absl::StrAppendFormat(&text, "\n%-6s %-10s %-8s %-28s %-18s %-12s %s\n", "FPIR", "calibrated",
                        "gallery", "measured over requested", "interval said", "held", "refused");
  for (const StudyRow& row : study.rows) {
    absl::StrAppendFormat(&text, "%-6g %-10d %-8d ", row.asked, row.calibrated_on, row.people);
    if (Answered(row)) {
      absl::StrAppendFormat(&text, "%-28s %-18s %-12s ",
                            absl::StrFormat("%.2f [%.2f, %.2f]", row.ratio, row.lo, row.hi),
                            absl::StrFormat("%.2f to %.2f", row.predicted_lo, row.predicted_hi),
                            absl::StrFormat("%d of %d", row.held, row.draws - row.refused));
    } else {
      absl::StrAppendFormat(&text, "%-28s %-18s %-12s ", "", "", "");
    }
    absl::StrAppendFormat(&text, "%s\n", row.refused == 0 ? "" : absl::StrCat(row.refused));
  }
  return text;
}

absl::StatusOr<std::string> MakeStudyReport(const SearchStudy& study, const std::string& data_name,
                                            const std::string& data_description,
                                            std::string* picture) {
  GnuplotJob job;
  Draw(study, &job);
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  HEFT_ASSIGN_OR_RETURN(*picture,
                        InlineSvg(drawn[0], "Measured FPIR over requested FPIR, by gallery size"));
  Page page(absl::StrCat("HEFT: searches, ", data_name));
  page.Title(absl::StrCat("HEFT: searches among people like those of ", data_name));
  if (!data_description.empty()) page.Paragraph(absl::StrCat("Data: ", data_description, "."));
  page.Paragraph(Summary(study) + ".");
  page.Figures({{*picture, "Do FPIR thresholds hold?",
                 "Bars contain 95% of the draws; on the dashed line the measured rate is the "
                 "requested one. By requested FPIR and calibrated people."}});
  page.Table(StudyTable(study));
  PageFacts facts;
  for (const LawCheck& check : study.checks) {
    facts.emplace_back(
        absl::StrFormat("A score that %g of the data's comparisons reach", check.data),
        absl::StrFormat("%.2g of the law's", check.law));
  }
  page.Facts(facts);
  page.Reproduce(study.options.command);
  return page.Finish();
}

}  // namespace heft::experiment
