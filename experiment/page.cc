// SPDX-License-Identifier: Apache-2.0
#include "experiment/page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace heft::experiment {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark;
  --page: #fff; --ink: #1d232b; --muted: #5d6773; --grid: #e3e7ec; --shade: #f4f6f8;
  --plain: #4a90d9; --encrypted: #c2410c; --first: #7a8794; --second: #b98a2e; --third: #4d8f6a;
  --loss: #b91c1c; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14181d; --ink: #e4e8ec; --muted: #98a3af; --grid: #2c333b; --shade: #1c2229;
  --plain: #4f8fd0; --encrypted: #ff9a5c; --first: #8c99a6; --second: #c99f4a; --third: #6bb58c;
  --loss: #f87171; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--page);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p { margin: .4rem 0; max-width: 46rem; }
small, .muted, figcaption { color: var(--muted); }
.key { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem;
  margin: 1.4rem 0; }
.key div { background: var(--shade); border-radius: .4rem; padding: .7rem .9rem; }
.key b { display: block; font-size: 1.45rem; font-weight: 600; }
.key span { display: block; font-size: .85rem; color: var(--muted); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
h2 span { color: var(--muted); font-weight: 400; font-size: .95rem; }
a { color: var(--plain); }
nav { columns: 15rem; margin: 1rem 0; font-size: .92rem; }
nav a { display: block; }
section { border-top: 1px solid var(--grid); margin-top: 2.4rem; }
.warnings { border-left: 3px solid var(--encrypted); margin: 1rem 0; padding: .1rem 0 .1rem 2rem; }
.deviations { border-left: 3px solid var(--second); padding: .1rem 0 .1rem 1.8rem;
  max-width: 46rem; }
.losses { border-left: 3px solid var(--loss); color: var(--loss); font-weight: 600;
  margin: 1rem 0; padding: .1rem 0 .1rem 2rem; }
.loss { color: var(--loss); font-weight: 600; }
.scroll { overflow-x: auto; background:
  linear-gradient(to left, transparent, var(--page) 2rem) left / 4rem 100% no-repeat local,
  linear-gradient(to right, transparent, var(--page) 2rem) right / 4rem 100% no-repeat local,
  linear-gradient(to left, transparent, var(--muted)) left / .6rem 100% no-repeat scroll,
  linear-gradient(to right, transparent, var(--muted)) right / .6rem 100% no-repeat scroll; }
svg text { paint-order: stroke; stroke: var(--page); stroke-width: .3em; stroke-linejoin: round; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { text-align: right; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { font-weight: 600; border-bottom-color: var(--muted); vertical-align: bottom; }
th, td.text, td small { white-space: normal; }
th.text, td.text, th:first-child, td:first-child { text-align: left; white-space: normal; }
th:first-child, td:first-child { padding-left: 0; min-width: 8rem; }
th.published, td.published { color: var(--muted); font-style: italic; }
td small { display: block; font-size: .78rem; white-space: nowrap; }
tr.main td { font-weight: 600; background: #7a87941c; }
tr.main td:first-child { padding-left: .4rem; }
tr.main small { font-weight: 400; }
.facts td { white-space: normal; text-align: left; }
.facts td:first-child { color: var(--muted); width: 15rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr));
  gap: 1.6rem 2rem; }
figure { margin: 0; min-width: 0; }
.figures + .scroll { margin-top: 1.2rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .88rem; margin-top: .3rem; }
figcaption b { color: var(--ink); }
pre { background: var(--shade); border-radius: .4rem; padding: .8rem; overflow-x: auto;
  font-size: .85rem; }
@media (max-width: 36rem) { h1 { font-size: 1.35rem; } .facts td:first-child { width: 48%; }
  figure svg text { font-size: 19px; } .figures { gap: 1.4rem; } .key b { font-size: 1.25rem; } }
@page { size: A4; margin: 14mm 13mm; }
@media print { :root { color-scheme: light;
  --page: #fff; --ink: #1d232b; --muted: #5d6773; --grid: #e3e7ec; --shade: #f4f6f8;
  --plain: #4a90d9; --encrypted: #c2410c; --first: #7a8794; --second: #b98a2e; --third: #4d8f6a;
  --loss: #b91c1c; }
  html { font-size: 76%; } body { max-width: none; padding: 0; print-color-adjust: exact; }
  p { max-width: none; } .scroll { overflow: visible; background: none; } th, td { padding: .25rem .4rem; }
  td small { font-size: .7rem; } figure svg text { font-size: 16px; }
  .figures { grid-template-columns: 1fr 1fr; gap: 1rem 1.4rem; }
  .key { grid-template-columns: repeat(3, 1fr); }
  h2, h3 { break-after: avoid; } figure, tr, .key div { break-inside: avoid; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; } }
)";

std::string Minus(const std::string& number) { return absl::StrReplaceAll(number, {{"-", "−"}}); }

std::string ClassOf(const PageTable::Column& column) {
  if (column.published) return column.text ? " class=\"published text\"" : " class=\"published\"";
  return column.text ? " class=\"text\"" : "";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  return absl::StrReplaceAll(
      absl::string_view(text.data(), text.size()),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string Fixed(double value, int digits) {
  const double unit = std::pow(10.0, -digits);
  return Minus(absl::StrFormat("%.*f", digits, std::abs(value) < unit / 2 ? 0.0 : value));
}

std::string Signed(double value, int digits) {
  const std::string number = Fixed(value, digits);
  return value > 0 && number != Fixed(0, digits) ? absl::StrCat("+", number) : number;
}

std::string Significant(double value) {
  if (value == 0) return "0";
  const int digits =
      std::clamp(1 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 12);
  return Minus(absl::StrFormat("%.*f", digits, value));
}

std::string Percent(double share) {
  return Minus(absl::StrFormat("%.*f%%", std::abs(share) < 0.1 ? 2 : 1, 100 * share));
}

std::string Count(int64_t value) {
  std::string digits = absl::StrCat(std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return value < 0 ? absl::StrCat("−", digits) : digits;
}

std::string Seconds(double seconds) {
  return absl::StrFormat("%.*f s", seconds < 10 ? 1 : 0, seconds);
}

std::string Milliseconds(double ms) { return absl::StrFormat("%.*f ms", ms < 10 ? 1 : 0, ms); }

std::string WithInterval(const std::string& value, const std::string& lo, const std::string& hi) {
  return absl::StrCat(value, "<small>", lo, " to ", hi, "</small>");
}

void Page::Html(std::string_view html) { body_ += html; }

void Page::Element(std::string_view tag, std::string_view text) {
  const std::string name(tag.substr(0, tag.find(' ')));
  absl::StrAppend(&body_, "<", std::string(tag), ">", EscapeHtml(text), "</", name, ">\n");
}

void Page::Title(std::string_view text) { Element("h1", text); }
void Page::Subheading(std::string_view text) { Element("h3", text); }
void Page::Paragraph(std::string_view text) { Element("p", text); }
void Page::Note(std::string_view text) { Element("p class=\"muted\"", text); }

void Page::Heading(std::string_view text, std::string_view aside) {
  absl::StrAppend(&body_, "<h2>", EscapeHtml(text));
  if (!aside.empty()) absl::StrAppend(&body_, " <span>", EscapeHtml(aside), "</span>");
  body_ += "</h2>\n";
}

void Page::Table(const PageTable& table) {
  body_ += "<div class=\"scroll\"><table>\n<tr>";
  for (const PageTable::Column& column : table.columns) {
    absl::StrAppend(&body_, "<th", ClassOf(column), ">", EscapeHtml(column.label), "</th>");
  }
  body_ += "</tr>\n";
  for (const PageTable::Row& row : table.rows) {
    body_ += row.main ? "<tr class=\"main\">" : "<tr>";
    for (size_t c = 0; c < row.cells.size(); ++c) {
      absl::StrAppend(&body_, "<td", ClassOf(table.columns[c]), ">", row.cells[c], "</td>");
    }
    body_ += "</tr>\n";
  }
  body_ += "</table></div>\n";
  if (!table.caption.empty()) Note(table.caption);
}

void Page::Facts(const PageFacts& facts) {
  body_ += "<div class=\"scroll\"><table class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    absl::StrAppend(&body_, "<tr><td>", EscapeHtml(name), "</td><td>", EscapeHtml(value),
                    "</td></tr>\n");
  }
  body_ += "</table></div>\n";
}

void Page::Figures(const std::vector<PageFigure>& figures) {
  body_ += "<div class=\"figures\">\n";
  for (const PageFigure& figure : figures) {
    absl::StrAppend(&body_, "<figure>", figure.svg, "<figcaption><b>", EscapeHtml(figure.title),
                    "</b> ", EscapeHtml(figure.caption), "</figcaption></figure>\n");
  }
  body_ += "</div>\n";
}

void Page::List(const std::vector<std::string>& items, std::string_view html_class) {
  if (items.empty()) return;
  absl::StrAppend(&body_, "<ul class=\"", std::string(html_class), "\">\n");
  for (const std::string& item : items) Element("li", item);
  body_ += "</ul>\n";
}

void Page::Reproduce(std::string_view command) {
  Heading("Reproduce");
  Element("pre", command);
  Note(absl::StrCat("heft ", HEFT_VERSION,
                    ". Plain numbers and intervals will be the same. Encrypted ones will be the "
                    "same up to their noise, because every run uses a new key."));
}

std::string Page::Finish() const {
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      title_, "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n", body_,
      "</body>\n</html>\n");
}

}  // namespace heft::experiment
