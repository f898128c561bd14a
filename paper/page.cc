// SPDX-License-Identifier: Apache-2.0
#include "paper/page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "experiment/figure.h"
#include "experiment/page.h"

namespace heft::paper {
using namespace experiment;  // NOLINT

namespace {

constexpr char kStyle[] = R"(<style>
nav { columns: 15rem; margin: 1rem 0; font-size: .92rem; }
nav a { display: block; }
a { color: var(--plain); }
.paper { color: var(--muted); font-weight: 400; font-size: .95rem; }
td.published, th.published { color: var(--muted); font-style: italic; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
section { border-top: 1px solid var(--grid); margin-top: 2.4rem; }
.figures { grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
.deviations { border-left: 3px solid var(--second); padding: .1rem 0 .1rem 1.8rem; max-width: 46rem; }
</style>
)";

constexpr Colour kCurveColours[] = {kPlain, kEncrypted, kThird, kSecond, kFirst, kInk};

// A minus sign as printers set it.
std::string Minus(const std::string& number) { return absl::StrReplaceAll(number, {{"-", "−"}}); }

std::string Fixed(double value, int digits) {
  return Minus(absl::StrFormat("%.*f", digits, value));
}

std::string Signed(double value, int digits) {
  return (value > 0 ? "+" : "") + Fixed(value, digits);
}

std::string Significant(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size < 1e-4) return Minus(absl::StrFormat("%.1e", value));
  return Fixed(value, std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 0, 6));
}

std::string Count(double value) {
  std::string digits = absl::StrFormat("%.0f", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return (value < 0 ? "−" : "") + digits;
}

std::string Number(double value, Format format) {
  switch (format) {
    case Format::kCount:
      return Count(value);
    case Format::kScore:
      return Fixed(value, value > 0.9995 && value < 1 ? 5 : 4);
    case Format::kDifference:
      return Signed(value, 4);
    case Format::kPercent:
      if (std::abs(value) < 1e-3) return Significant(100 * value) + "%";
      return Fixed(100 * value, std::abs(value) < 0.0995 ? 2 : 1) + "%";
    case Format::kMilliseconds:
      return value < 0.1 ? Significant(value) : value < 100 ? Fixed(value, 2) : Count(value);
    case Format::kBytes:
      return HumanBytes(value);
    default:
      return Significant(value);
  }
}

// A column without a label is for programs only.
bool IsShown(const Column& column) { return !column.label.empty(); }

bool IsNumeric(const Column& column) { return column.format != Format::kText; }

std::string TableHtml(const Table& table) {
  std::string html = "<div class=\"scroll\"><table>\n<tr>";
  const auto of_paper = [](const Column& column) {
    return column.of_paper ? std::string(" class=\"published\"") : std::string();
  };
  for (const Column& column : table.columns) {
    if (!IsShown(column)) continue;
    absl::StrAppend(&html, "<th", of_paper(column),
                    IsNumeric(column) ? "" : " style=\"text-align:left\"", ">",
                    EscapeHtml(column.label), "</th>");
  }
  html += "</tr>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const bool main = std::count(table.main_rows.begin(), table.main_rows.end(), i) > 0;
    html += main ? "<tr class=\"main\">" : "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      if (!IsShown(column)) continue;
      absl::StrAppend(&html, "<td", of_paper(column),
                      IsNumeric(column) ? "" : " style=\"text-align:left\"", ">",
                      CellHtml(table.rows[i][c], column.format), "</td>");
    }
    html += "</tr>\n";
  }
  absl::StrAppend(&html, "</table></div>\n");
  if (!table.caption.empty()) {
    absl::StrAppend(&html, "<p class=\"muted\">", EscapeHtml(table.caption), "</p>\n");
  }
  return html;
}

std::string Points(const Curve& curve) {
  std::string rows;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
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
  figure.Line("set key " + chart.key_at);
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
    const std::string style = Style(colour, 2.5, curve.dashed ? 2 : 1);
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
                     absl::StrCat("textcolor ", Rgb(colour)), "");
        break;
      case Mark::kIntervals:
        figure.Curve(Points(curve), "with yerrorlines", style, curve.label);
        break;
    }
  }
  figure.Finish();
}

// All charts of all sections, in order.
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
  HEFT_ASSIGN_OR_RETURN(std::vector<std::string> drawn, RunGnuplot(job));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(drawn[i], InlineSvg(drawn[i], charts[i]->title));
  }
  return drawn;
}

std::string FactsHtml(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string html = "<div class=\"scroll\"><table class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    absl::StrAppend(&html, "<tr><td>", EscapeHtml(name), "</td><td>", EscapeHtml(value),
                    "</td></tr>\n");
  }
  return html + "</table></div>\n";
}

// `drawn` are the section's charts.
std::string SectionHtml(const Section& section, std::span<const std::string> drawn) {
  std::string html =
      absl::StrCat("<section id=\"", section.id, "\">\n<h2>", EscapeHtml(section.title),
                   " <span class=\"paper\">", EscapeHtml(section.paper), "</span></h2>\n");
  for (const std::string& paragraph : section.text) {
    absl::StrAppend(&html, "<p>", EscapeHtml(paragraph), "</p>\n");
  }
  for (const Table& table : section.tables) html += TableHtml(table);
  if (!section.charts.empty()) {
    html += "<div class=\"figures\">\n";
    for (std::size_t i = 0; i < section.charts.size(); ++i) {
      const Chart& chart = section.charts[i];
      absl::StrAppend(&html, "<figure>", drawn[i], "<figcaption><b>", EscapeHtml(chart.title),
                      "</b> ", EscapeHtml(chart.caption), "</figcaption></figure>\n");
    }
    html += "</div>\n";
  }
  if (!section.notes.empty()) {
    html += "<h3>Where and why this differs from the paper</h3>\n<ul class=\"deviations\">\n";
    for (const std::string& note : section.notes) {
      absl::StrAppend(&html, "<li>", EscapeHtml(note), "</li>\n");
    }
    html += "</ul>\n";
  }
  if (!section.parameters.empty()) html += "<h3>Parameters</h3>\n" + FactsHtml(section.parameters);
  absl::StrAppendFormat(&html, "<p class=\"muted\">Took %.1f s.</p>\n</section>\n",
                        section.seconds);
  return html;
}

std::string TopHtml(const Reproduction& r) {
  std::string html = absl::StrCat("<h1>HEFT: the paper’s tables and figures on ",
                                  EscapeHtml(r.data_name), "</h1>\n");
  if (!r.data_description.empty()) {
    absl::StrAppend(&html, "<p>Data: ", EscapeHtml(r.data_description), ".</p>\n");
  }
  std::string modalities;
  for (const auto& [name, dimension] : r.modalities) {
    absl::StrAppend(&modalities, modalities.empty() ? "" : " and ", EscapeHtml(name), " (",
                    dimension, "-D)");
  }
  absl::StrAppend(&html, "<p class=\"muted\">", modalities, ": ", Count(r.samples), " samples of ",
                  Count(r.identities),
                  " identities. Published numbers of the paper are set in "
                  "italics beside ours.</p>\n<nav>\n");
  for (const Section& section : r.sections) {
    absl::StrAppend(&html, "<a href=\"#", section.id, "\">", EscapeHtml(section.title), "</a>\n");
  }
  return html + "</nav>\n";
}

std::string EndHtml(const Reproduction& r) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [name, value] : r.machine.members()) {
    facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  facts.emplace_back("whole run", absl::StrFormat("%.0f s", r.seconds));
  return absl::StrCat("<section id=\"machine\">\n<h2>Machine</h2>\n", FactsHtml(facts));
}

Json TableJson(const Table& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back(
        {{"key", column.key}, {"label", column.label}, {"of_paper", column.of_paper}});
  }
  for (const std::vector<Json>& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t c = 0; c < cells.size(); ++c) row[table.columns[c].key] = cells[c];
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

std::string CellHtml(const Json& cell, Format format) {
  if (cell.is_null()) return "";
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_string()) return EscapeHtml(cell.get<std::string>());
  if (cell.is_object()) {
    return absl::StrCat(Number(cell["value"].get<double>(), format), "<small>",
                        Number(cell["lo"].get<double>(), format), " to ",
                        Number(cell["hi"].get<double>(), format), "</small>");
  }
  return Number(cell.get<double>(), format);
}

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
  std::string body = kStyle + TopHtml(r);
  std::size_t at = 0;
  for (const Section& section : r.sections) {
    body += SectionHtml(section, std::span(drawn).subspan(at, section.charts.size()));
    at += section.charts.size();
  }
  Page page(absl::StrCat("HEFT reproduced on ", r.data_name));
  page.Html(body + EndHtml(r));
  page.Reproduce(r.command);
  page.Html("</section>\n");
  return page.Finish();
}

}  // namespace heft::paper
