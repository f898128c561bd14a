// SPDX-License-Identifier: Apache-2.0
// What an experiment with several samples found, as JSON, text and a page.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/inside.h"
#include "experiment/evaluation.h"
#include "experiment/figure.h"
#include "experiment/page.h"
#include "experiment/reports.h"
#include "experiment/samples.h"
#include "features/dataset.h"

namespace heft {
namespace experiment {
namespace {

std::string NameOf(const SampleWay& way) {
  const std::string enrolled = way.enrolled == 1 ? "one sample"
                               : way.separate
                                   ? absl::StrCat(way.enrolled, " templates, the best score counts")
                                   : absl::StrCat("the mean of ", way.enrolled);
  return way.probe == 1 ? enrolled
                        : absl::StrCat(enrolled, ", compared with the mean of ", way.probe);
}

const ComparisonEstimate& Shown(const SampleStudy& study, const SampleRow& row) {
  return study.options.encrypted ? row.encrypted : row.plain;
}

Json EstimatesJson(const ComparisonEstimate& e) {
  return {{"fnmr_at_fmr_1e-2", EstimateJson(e.fnmr_1e2)},
          {"fnmr_at_fmr_1e-3", EstimateJson(e.fnmr_1e3)},
          {"eer", EstimateJson(e.eer)},
          {"fnmr_at_fmr_1e-2_change", EstimateJson(e.fnmr_change)},
          {"genuine", e.genuine},
          {"impostor", e.impostor}};
}

std::string EstimateCell(const Estimate& e) {
  return WithInterval(Percent(e.value), Percent(e.lo), Percent(e.hi));
}
std::string ChangeCell(const Estimate& e) {
  return WithInterval(Signed(100 * e.value, 2), Signed(100 * e.lo, 2), Signed(100 * e.hi, 2));
}

std::string Scope(const SampleStudy& study) {
  return absl::StrFormat(
      "%d people in %d folds (%d have too few samples), %d random draws of each one's samples; "
      "%s; samples of a person agree by %.2f",
      study.people, study.options.folds, study.left_out, study.options.draws,
      study.options.encrypted ? "computed under encryption" : "plain scores", study.agreement);
}

PageTable RatesTable(const SampleStudy& study) {
  PageTable table;
  table.caption =
      "False non-match rate at a false match rate of the test people themselves, mean over the "
      "folds, with 95% intervals by resampling people. Change: percentage points from the first "
      "row, on the same replicates. The last column gives the rates at the models' thresholds for "
      "FMR 1e-2, which are fitted to single samples.";
  table.columns = {{"enrolled as", true},
                   {"FNMR at FMR 1e-2"},
                   {"change"},
                   {"FNMR at FMR 1e-3"},
                   {"EER"},
                   {"FMR, FNMR at the models' threshold"}};
  for (const SampleRow& row : study.rows) {
    const ComparisonEstimate& e = Shown(study, row);
    table.rows.push_back(
        {{EscapeHtml(NameOf(row.way)), EstimateCell(e.fnmr_1e2), ChangeCell(e.fnmr_change),
          EstimateCell(e.fnmr_1e3), EstimateCell(e.eer),
          absl::StrCat(Percent(row.fmr_at_threshold), ", ", Percent(row.fnmr_at_threshold))}});
  }
  return table;
}

PageTable CostTable(const SampleStudy& study) {
  PageTable table;
  table.caption = absl::StrFormat(
      "The cost of a person, and the information in %d scores of it, which is the default limit of "
      "what a key owner publishes: the cosine of the best guess with the nearest of its templates, "
      "and how often that guess is accepted at FMR 1e-3.",
      study.scores);
  table.columns = {{"enrolled as", true},
                   {"outside the interval"},
                   {"not activated"},
                   {"guess, cosine"},
                   {"guess accepted"}};
  if (study.options.encrypted) {
    table.columns.insert(table.columns.end(), {{"server"}, {"sent"}, {"stored"}, {"score off by"}});
  }
  for (const SampleRow& row : study.rows) {
    if (row.way.probe != study.options.probes[0]) continue;
    PageTable::Row cells{{EscapeHtml(NameOf(row.way)), Percent(row.outside), Percent(row.rejected),
                          Fixed(row.recovered, 2), Percent(row.recovered_accepted)}};
    if (study.options.encrypted) {
      cells.cells.insert(cells.cells.end(),
                         {Milliseconds(row.enrol_ms),
                          absl::StrCat(Count(std::llround(row.sent_bytes / 1024)), " kB"),
                          absl::StrCat(Count(std::llround(row.stored_bytes)), " B"),
                          Significant(row.largest_gap)});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string MixedText(const MixedRow& row) {
  return absl::StrFormat("the mean of samples of %d different people: %s are not activated",
                         row.people, Percent(row.rejected));
}

}  // namespace

Json ToJson(const SampleStudy& study) {
  Json rows = Json::array(), mixed = Json::array();
  for (const SampleRow& row : study.rows) {
    Json entry = {{"enrolled", row.way.enrolled},
                  {"probe", row.way.probe},
                  {"separate", row.way.separate},
                  {"plain", EstimatesJson(row.plain)},
                  {"at_threshold_for_fmr_1e-2",
                   {{"fmr", row.fmr_at_threshold}, {"fnmr", row.fnmr_at_threshold}}},
                  {"outside", row.outside},
                  {"rejected", row.rejected},
                  {"recovered", {{"cosine", row.recovered}, {"accepted", row.recovered_accepted}}}};
    if (study.options.encrypted) {
      entry["encrypted"] = EstimatesJson(row.encrypted);
      entry["largest_gap"] = row.largest_gap;
      entry["enrol_ms"] = row.enrol_ms;
      entry["sent_bytes"] = row.sent_bytes;
      entry["stored_bytes"] = row.stored_bytes;
    }
    rows.push_back(std::move(entry));
  }
  for (const MixedRow& row : study.mixed) {
    mixed.push_back({{"people", row.people}, {"rejected", row.rejected}});
  }
  return {{"people", study.people},
          {"left_out", study.left_out},
          {"folds", study.options.folds},
          {"draws", study.options.draws},
          {"sample_agreement", study.agreement},
          {"scores", study.scores},
          {"samples", std::move(rows)},
          {"mixed_people", std::move(mixed)}};
}

std::string ToText(const SampleStudy& study) {
  std::string text = absl::StrCat(Scope(study), "\n");
  absl::StrAppendFormat(&text, "%-44s %-26s %-26s %-26s %s\n", "", "FNMR at FMR 1e-2", "change",
                        "FNMR at FMR 1e-3", "FMR, FNMR at the models' threshold for 1e-2");
  for (const SampleRow& row : study.rows) {
    const ComparisonEstimate& e = Shown(study, row);
    const Estimate& c = e.fnmr_change;
    absl::StrAppendFormat(&text, "%-44s %-26s %-26s %-26s %.4f, %.4f\n", NameOf(row.way),
                          EstimateText(e.fnmr_1e2),
                          absl::StrFormat("%+.4f [%+.4f, %+.4f]", c.value, c.lo, c.hi),
                          EstimateText(e.fnmr_1e3), row.fmr_at_threshold, row.fnmr_at_threshold);
  }
  for (const MixedRow& row : study.mixed) absl::StrAppend(&text, MixedText(row), "\n");
  return text;
}

absl::StatusOr<std::string> DrawSampleRates(const SampleStudy& study) {
  GnuplotJob job;
  Figure figure(&job, "samples");
  figure.Line("set yrange [0:*]");
  figure.Line(absl::StrFormat("set xrange [0.5:%d.5]", std::ranges::max(study.options.samples)));
  figure.Line("set xtics 1");
  figure.Label("x", "samples at enrolment");
  figure.Label("y", "FNMR at FMR 0.01, %");
  const auto draw = [&](int probe, bool separate, double shift, const std::string& style,
                        const std::string& title) {
    std::string rows;
    for (const SampleRow& row : study.rows) {
      const bool one = row.way.enrolled == 1 && !row.way.separate;
      if (row.way.probe != probe || (row.way.separate != separate && !one)) continue;
      const Estimate& e = Shown(study, row).fnmr_1e2;
      absl::StrAppendFormat(&rows, "%.9g %.9g %.9g %.9g\n", row.way.enrolled + shift, 100 * e.value,
                            100 * e.lo, 100 * e.hi);
    }
    figure.Curve(rows, "with yerrorlines", style, title);
  };
  draw(study.options.probes[0], true, 0.06, Style(kSecond, 1.5),
       "one template per sample, the best score counts");
  const std::string styles[] = {Style(kEncrypted, 2), Style(kPlain, 2), Style(kThird, 2)};
  for (size_t i = 0; i < study.options.probes.size(); ++i) {
    const int n = study.options.probes[i];
    draw(n, false, -0.06 * static_cast<double>(i), styles[i % 3],
         n == 1 ? "their mean, compared with one"
                : absl::StrCat("their mean, compared with a mean of ", n));
  }
  figure.Finish();
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  return InlineSvg(drawn[0], "False non-match rate by the number of samples");
}

std::string MakeSamplesPage(const SampleStudy& study, const std::string& picture,
                            const std::string& data_name, const std::string& data_description,
                            const std::string& command) {
  Page page(absl::StrCat("Several samples: ", data_name));
  page.Title("Several samples of one person");
  if (!data_description.empty()) page.Paragraph(absl::StrCat(data_description, "."));
  page.Note(absl::StrCat(Scope(study), "."));
  page.Figures({{picture, "More samples, fewer false non-matches", "95% intervals."}});
  page.Table(RatesTable(study));
  page.Heading("Cost, and information in scores");
  page.Table(CostTable(study));
  std::vector<std::string> mixed;
  for (const MixedRow& row : study.mixed) mixed.push_back(MixedText(row));
  page.Heading("Samples of different people");
  page.Paragraph(
      "A mean of different people is shorter than a mean of one person. Admission checks the "
      "length after the approximation has normalised it, which hides the difference unless the "
      "mean is outside the approximation's interval.");
  page.List(mixed);
  page.Reproduce(command);
  return page.Finish();
}

}  // namespace experiment

absl::StatusOr<Report> EvaluateSamples(const TrainingData& data, std::span<const Model> models,
                                       const SampleStudyOptions& options, const Monitor& monitor) {
  if (options.page || options.pictures) HEFT_RETURN_IF_ERROR(CheckDrawing());
  const Dataset& dataset = Inside::Of(data).dataset;
  HEFT_ASSIGN_OR_RETURN(
      const experiment::SampleStudy found,
      experiment::StudySamples(monitor, dataset, {models.begin(), models.end()}, options));
  Report report{experiment::ToJson(found), experiment::ToText(found)};
  if (!options.page && !options.pictures) return report;
  HEFT_ASSIGN_OR_RETURN(const std::string picture, experiment::DrawSampleRates(found));
  if (options.page) {
    report.page =
        experiment::MakeSamplesPage(found, picture, experiment::FolderName(dataset.folder),
                                    experiment::DescribeData(dataset.folder), options.command);
  }
  if (options.pictures) report.pictures = {{"samples.svg", experiment::SvgFile(picture)}};
  return report;
}

}  // namespace heft
