// SPDX-License-Identifier: Apache-2.0
#include "experiment/figure.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "experiment/page.h"

namespace heft::experiment {
namespace {

constexpr const char* kVariables[kColours] = {"--ink",       "--muted", "--grid",   "--plain",
                                              "--encrypted", "--first", "--second", "--third"};

// gnuplot writes a colour so for lines and areas, and so for text.
std::string RgbOfLines(int colour) { return absl::StrFormat("rgb( 11,  11, %3d)", colour + 1); }
std::string RgbOfText(int colour) { return absl::StrFormat("rgb(11,11,%d)", colour + 1); }

constexpr int kWidth = 600, kHeight = 400;

}  // namespace

std::string Rgb(Colour colour) { return absl::StrFormat("rgb '#0b0b%02x'", colour + 1); }

std::string Style(Colour colour, double width, int dash) {
  return absl::StrFormat("linewidth %g dashtype %d linecolor %s", width, dash, Rgb(colour));
}

std::string Fill(Colour colour) { return absl::StrCat("linecolor ", Rgb(colour)); }

Figure::Figure(GnuplotJob* job, std::string name, std::string_view title)
    : job_(job), name_(std::move(name)) {
  Line("reset");
  Line(absl::StrFormat("set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,15'",
                       kWidth, kHeight));
  Line(absl::StrCat("set output '", name_, ".svg'"));
  Line("set encoding utf8");
  Line("set minussign");
  const std::string ink = Rgb(kInk), muted = Rgb(kMuted);
  Line(absl::StrCat("set border 3 linecolor ", muted));
  Line(absl::StrCat("set tics nomirror out scale 0.5 textcolor ", ink));
  Line(absl::StrCat("set grid back linetype 1 linewidth 1 linecolor ", Rgb(kGrid)));
  Line(absl::StrCat("set key above horizontal Left reverse textcolor ", ink,
                    " samplen 2 spacing 1.15"));
  if (!title.empty()) {
    Line(absl::StrCat("set title ", GnuplotQuote(title), " textcolor ", ink));
  }
  Line("set style fill solid 0.35 noborder");
  Line("set boxwidth 1 relative");
}

void Figure::Line(const std::string& line) { absl::StrAppend(&job_->script, line, "\n"); }

void Figure::Label(const char* axis, std::string_view text) {
  Line(absl::StrCat("set ", axis, "label ", GnuplotQuote(text), " textcolor ", Rgb(kInk)));
}

void Figure::Mark(double x) {
  Line(
      absl::StrFormat("set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead front "
                      "linewidth 1 dashtype 2 linecolor %s",
                      x, x, Rgb(kInk)));
}

void Figure::Curve(const std::string& rows, const std::string& how, const std::string& style,
                   const std::string& title) {
  const std::string file = absl::StrCat(name_, curves_.size(), ".dat");
  job_->inputs.emplace_back(file, rows);
  curves_.push_back(
      absl::StrCat("'", file, "' ", how, " ", style, " ",
                   title.empty() ? "notitle" : absl::StrCat("title ", GnuplotQuote(title))));
}

void Figure::Finish() {
  Line(absl::StrCat("plot ", absl::StrJoin(curves_, ", \\\n     ")));
  Line("unset output");
  job_->outputs.push_back(name_ + ".svg");
}

absl::StatusOr<std::string> InlineSvg(std::string_view svg, std::string_view description) {
  constexpr std::string_view kStart = "<g id=\"gnuplot_canvas\">", kEnd = "</svg>";
  const size_t start = svg.find(kStart), end = svg.rfind(kEnd);
  const size_t defs = svg.find("<defs>"), defs_end = svg.find("</defs>");
  if (start == svg.npos || end == svg.npos || defs == svg.npos || defs_end == svg.npos ||
      !(start < defs && defs < defs_end && defs_end < end)) {
    return absl::InternalError("gnuplot wrote something else than the SVG expected of it");
  }
  // The definitions are symbols of points, which no plot uses.
  const size_t body = start + kStart.size(), after = defs_end + std::string_view("</defs>").size();
  std::string drawing = absl::StrCat("<g>", std::string(svg.substr(body, defs - body)),
                                     std::string(svg.substr(after, end - after)));
  // Ids would clash between the pictures of one page.
  for (size_t at; (at = drawing.find(" id=\"gnuplot_")) != drawing.npos;) {
    const size_t quote = drawing.find('"', at + 5);
    drawing.erase(at, quote + 1 - at);
  }
  for (int colour = 0; colour < kColours; ++colour) {
    const std::string variable = absl::StrCat("var(", kVariables[colour], ")");
    absl::StrReplaceAll({{RgbOfLines(colour), variable}, {RgbOfText(colour), variable}}, &drawing);
  }
  return absl::StrFormat("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">%s</svg>",
                         kWidth, kHeight, EscapeHtml(description), drawing);
}

std::string SvgFile(std::string_view inline_svg) {
  constexpr std::string_view kOpening = "<svg ";
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" ",
      std::string(inline_svg.substr(0, inline_svg.find('>') + 1).substr(kOpening.size())),
      "\n<style>\nsvg { --ink: #1d232b; --muted: #5d6773; --grid: #e3e7ec; --plain: #4a90d9;\n"
      "  --encrypted: #c2410c; --first: #7a8794; --second: #b98a2e; --third: #4d8f6a; }\n"
      "@media (prefers-color-scheme: dark) { svg { --ink: #e4e8ec; --muted: #98a3af;\n"
      "  --grid: #2c333b; --plain: #4f8fd0; --encrypted: #ff9a5c; --first: #8c99a6;\n"
      "  --second: #c99f4a; --third: #6bb58c; } }\n</style>\n",
      std::string(inline_svg.substr(inline_svg.find('>') + 1)), "\n");
}

}  // namespace heft::experiment
