// SPDX-License-Identifier: Apache-2.0
#include "experiment/page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/bytes.h"
#include "experiment/figure.h"
#include "heft/inspect.h"
#include "paper/reproduce.h"

namespace heft::paper {

using experiment::Colour;
using experiment::Figure;
using experiment::GnuplotJob;
using experiment::Page;
using experiment::PageTable;

namespace {

constexpr Colour kCurveColours[] = {experiment::kPlain,  experiment::kEncrypted, experiment::kThird,
                                    experiment::kSecond, experiment::kFirst,     experiment::kInk};

// Small: two significant digits, with an exponent where there would be many zeros.
std::string Small(double value) {
  if (value == 0 || std::abs(value) >= 1e-4) return experiment::Significant(value);
  return absl::StrReplaceAll(absl::StrFormat("%.1e", value), {{"-", "−"}});
}

std::string Number(double value, Format format) {
  switch (format) {
    case Format::kCount:
      return experiment::Count(std::llround(value));
    case Format::kScore:
      return experiment::Fixed(value, value > 0.9995 && value < 1 ? 5 : 4);
    case Format::kDifference:
      return experiment::Signed(value, 4);
    case Format::kPercent:
      if (std::abs(value) < 1e-3) return Small(100 * value) + "%";
      return experiment::Percent(value);
    case Format::kMilliseconds:
      if (value < 0.1) return Small(value);
      return value < 100 ? experiment::Fixed(value, 2) : experiment::Count(std::llround(value));
    case Format::kBytes:
      return HumanBytes(value);
    default:
      return Small(value);
  }
}

// CellHtml: one cell of a column as people read it.
std::string CellHtml(const Json& cell, Format format) {
  if (cell.is_null()) return "";
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_string()) return experiment::EscapeHtml(cell.get<std::string>());
  const auto number = [&](const Json& value) { return Number(value.get<double>(), format); };
  if (!cell.is_object()) return number(cell);
  return experiment::WithInterval(number(cell["value"]), number(cell["lo"]), number(cell["hi"]));
}

// ForPage: the columns that have a label; the others are for programs only.
PageTable ForPage(const Table& table) {
  PageTable shown{.caption = table.caption};
  for (const Column& column : table.columns) {
    if (column.label.empty()) continue;
    shown.columns.push_back({.label = column.label,
                             .text = column.format == Format::kText,
                             .published = column.of_paper});
  }
  for (size_t i = 0; i < table.rows.size(); ++i) {
    PageTable::Row row;
    row.main = std::count(table.main_rows.begin(), table.main_rows.end(), i) > 0;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      if (!column.label.empty()) row.cells.push_back(CellHtml(table.rows[i][c], column.format));
    }
    shown.rows.push_back(std::move(row));
  }
  return shown;
}

// Points: rows of numbers as gnuplot reads them.
std::string Points(const Curve& curve) {
  std::string rows;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const auto& [x, y] = curve.points[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      rows += "\n";  // a gap in the line
      continue;
    }
    absl::StrAppendFormat(&rows, "%.9g %.9g", x, y);
    if (curve.mark == Mark::kIntervals) {
      absl::StrAppendFormat(&rows, " %.9g %.9g", curve.intervals[i].first,
                            curve.intervals[i].second);
    }
    rows += "\n";
  }
  return rows;
}

void Draw(GnuplotJob* job, const Chart& chart) {
  Figure figure(job, absl::StrReplaceAll(chart.id, {{"-", "_"}}));
  const auto axis = [&](const char* name, bool log, const auto& range) {
    if (log) {
      figure.Line(absl::StrCat("set logscale ", name));
      figure.Line(absl::StrCat("set format ", name, " '%g'"));
    }
    if (range)
      figure.Line(absl::StrFormat("set %srange [%.9g:%.9g]", name, range->first, range->second));
  };
  axis("x", chart.log_x, chart.x_range);
  axis("y", chart.log_y, chart.y_range);
  figure.Label("x", chart.x_label);
  figure.Label("y", chart.y_label);
  for (double x : chart.verticals) figure.Mark(x);
  for (const Curve& curve : chart.curves) {
    const Colour colour = kCurveColours[curve.colour % std::size(kCurveColours)];
    const std::string style = experiment::Style(colour, 2.5, curve.dashed ? 2 : 1);
    switch (curve.mark) {
      case Mark::kLine:
        figure.Curve(Points(curve), "with lines", style, curve.label);
        break;
      case Mark::kSteps:
        figure.Curve(Points(curve), "with steps", style, curve.label);
        break;
      case Mark::kDots:
        figure.Curve(Points(curve), "with lines", style, curve.label);
        // Text, because InlineSvg leaves out the symbols of points.
        figure.Curve(Points(curve), "using 1:2:('●') with labels",
                     absl::StrCat("textcolor ", experiment::Rgb(colour)), "");
        break;
      case Mark::kIntervals:
        figure.Curve(Points(curve), "with yerrorlines", style, curve.label);
        break;
    }
  }
  figure.Finish();
}

// DrawAll: all charts of all sections, in order.
absl::StatusOr<std::vector<std::string>> DrawAll(const Reproduction& r) {
  GnuplotJob job;
  std::vector<const Chart*> charts;
  for (const Section& section : r.sections) {
    for (const Chart& chart : section.charts) {
      Draw(&job, chart);
      charts.push_back(&chart);
    }
  }
  if (charts.empty()) return std::vector<std::string>();
  HEFT_ASSIGN_OR_RETURN(std::vector<std::string> drawn, experiment::RunGnuplot(job));
  for (size_t i = 0; i < drawn.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(drawn[i], experiment::InlineSvg(drawn[i], charts[i]->title));
  }
  return drawn;
}

// AddSection: `drawn` are the section's charts.
void AddSection(const Section& section, std::span<const std::string> drawn, Page* page) {
  page->Html(absl::StrCat("<section id=\"", section.id, "\">\n"));
  page->Heading(section.title, section.paper);
  for (const std::string& paragraph : section.text) page->Paragraph(paragraph);
  for (const Table& table : section.tables) page->Table(ForPage(table));
  std::vector<experiment::PageFigure> figures;
  for (size_t i = 0; i < section.charts.size(); ++i) {
    figures.push_back({drawn[i], section.charts[i].title, section.charts[i].caption});
  }
  if (!figures.empty()) page->Figures(figures);
  if (!section.notes.empty()) page->Subheading("Where and why this differs from the paper");
  page->List(section.notes, "deviations");
  if (!section.parameters.empty()) {
    page->Subheading("Parameters");
    page->Facts(section.parameters);
  }
  page->Note(absl::StrFormat("Took %.1f s.", section.seconds));
  page->Html("</section>\n");
}

void AddTop(const Reproduction& r, Page* page) {
  page->Title(absl::StrCat("HEFT: the paper’s tables and figures on ", r.data_name));
  if (!r.data_description.empty()) {
    page->Paragraph(absl::StrCat("Data: ", r.data_description, "."));
  }
  std::string modalities;
  for (const auto& [name, dimension] : r.modalities) {
    absl::StrAppend(&modalities, modalities.empty() ? "" : " and ", name, " (", dimension, "-D)");
  }
  page->Note(absl::StrCat(modalities, ": ", experiment::Count(r.samples), " samples of ",
                          experiment::Count(r.identities),
                          " identities. Published numbers of the paper are set in italics beside "
                          "ours."));
  page->Html("<nav>\n");
  for (const Section& section : r.sections) {
    page->Html(absl::StrCat("<a href=\"#", section.id, "\">", experiment::EscapeHtml(section.title),
                            "</a>\n"));
  }
  page->Html("</nav>\n");
}

void AddMachine(const Reproduction& r, Page* page) {
  page->Html("<section id=\"machine\">\n");
  page->Heading("Machine");
  experiment::PageFacts facts;
  for (const auto& [name, value] : r.machine.members()) {
    facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  facts.emplace_back("whole run", absl::StrFormat("%.0f s", r.seconds));
  page->Facts(facts);
  page->Reproduce(r.command);
  page->Html("</section>\n");
}

Json TableJson(const Table& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back(
        {{"key", column.key}, {"label", column.label}, {"of_paper", column.of_paper}});
  }
  for (const std::vector<Json>& cells : table.rows) {
    Json row = Json::object();
    for (size_t c = 0; c < cells.size(); ++c) row[table.columns[c].key] = cells[c];
    rows.push_back(std::move(row));
  }
  return {{"id", table.id}, {"caption", table.caption}, {"columns", columns}, {"rows", rows}};
}

Json ChartJson(const Chart& chart) {
  Json curves = Json::array();
  for (const Curve& curve : chart.curves) {
    Json entry = {{"label", curve.label}, {"points", curve.points}};
    if (!curve.intervals.empty()) entry["intervals"] = curve.intervals;
    curves.push_back(std::move(entry));
  }
  return {{"id", chart.id},
          {"title", chart.title},
          {"x", chart.x_label},
          {"y", chart.y_label},
          {"curves", curves}};
}

Json SectionJson(const Section& section) {
  Json tables = Json::array(), charts = Json::array(), parameters = Json::object();
  for (const Table& table : section.tables) tables.push_back(TableJson(table));
  for (const Chart& chart : section.charts) charts.push_back(ChartJson(chart));
  for (const auto& [name, value] : section.parameters) parameters[name] = value;
  return {{"id", section.id},       {"title", section.title},   {"paper", section.paper},
          {"text", section.text},   {"tables", tables},         {"charts", charts},
          {"notes", section.notes}, {"parameters", parameters}, {"seconds", section.seconds}};
}

}  // namespace

Json ToJson(const Reproduction& r) {
  Json modalities = Json::array(), sections = Json::object();
  for (const auto& [name, dimension] : r.modalities) {
    modalities.push_back({{"name", name}, {"dimension", dimension}});
  }
  for (const Section& section : r.sections) sections[section.id] = SectionJson(section);
  return {{"version", HEFT_VERSION},
          {"data",
           {{"name", r.data_name},
            {"description", r.data_description},
            {"samples", r.samples},
            {"identities", r.identities},
            {"modalities", modalities}}},
          {"quick", r.quick},
          {"command", r.command},
          {"machine", r.machine},
          {"seconds", r.seconds},
          {"sections", sections}};
}

absl::StatusOr<std::string> MakePage(const Reproduction& r) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, DrawAll(r));
  Page page(absl::StrCat("HEFT reproduced on ", r.data_name));
  AddTop(r, &page);
  size_t at = 0;
  for (const Section& section : r.sections) {
    AddSection(section, std::span(drawn).subspan(at, section.charts.size()), &page);
    at += section.charts.size();
  }
  AddMachine(r, &page);
  return page.Finish();
}

}  // namespace heft::paper
