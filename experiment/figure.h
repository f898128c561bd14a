// SPDX-License-Identifier: Apache-2.0
// Pictures for reports: a gnuplot script, which runs as a child process without a shell, and its
// output as inline SVG. The colours are CSS variables, which the page defines for light and dark.
#ifndef HEFT_EXPERIMENT_FIGURE_H_
#define HEFT_EXPERIMENT_FIGURE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace heft::experiment {

// GnuplotJob: a script with the data files that it reads and the files that it writes, all by plain
// names in its working directory.
struct GnuplotJob {
  std::string script;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, content
  std::vector<std::string> outputs;
};

// kUnavailable, naming scripts/install-dependencies, where gnuplot is not installed.
absl::Status CheckGnuplot();

// Runs the job in a temporary folder of its own, which is removed, and returns the outputs in their
// order. kInternal with gnuplot's message if it fails.
absl::StatusOr<std::vector<std::string>> RunGnuplot(const GnuplotJob& job);

// `text` as a gnuplot string in single quotes: nothing in it is expanded or run.
std::string GnuplotQuote(std::string_view text);

// Parts of a picture with a colour of their own; InlineSvg puts the page's variable for each.
enum Colour { kInk, kMuted, kGrid, kPlain, kEncrypted, kFirst, kSecond, kThird, kColours };

// The colour in gnuplot's words.
std::string Rgb(Colour colour);
// Of a line, and of an area.
std::string Style(Colour colour, double width, int dash = 1);
std::string Fill(Colour colour);

// One picture: its settings and curves, each with its data.
class Figure {
 public:
  // `title` may be empty. The key stands above the plot, where it covers no curve.
  Figure(GnuplotJob* job, std::string name, std::string_view title = "");
  void Line(const std::string& line);
  void Label(const char* axis, std::string_view text);
  // A dashed vertical line; with `text` beside it, `height` of the way up, placed as gnuplot's
  // words `where` say.
  void Mark(double x);
  void Mark(double x, std::string_view text, double height, std::string_view where);
  // `rows` are lines of numbers; `how` says what gnuplot draws with them.
  void Curve(const std::string& rows, const std::string& how, const std::string& style,
             const std::string& title);
  void Finish();

 private:
  GnuplotJob* job_;
  std::string name_;
  std::vector<std::string> curves_;
};

// gnuplot's SVG as an element of a page: without prologue, fixed size, unused definitions and ids,
// and with CSS variables instead of a Figure's colours. `description` becomes its accessible name.
// kInternal if `svg` is not what gnuplot writes.
absl::StatusOr<std::string> InlineSvg(std::string_view svg, std::string_view description);

// SvgFile: such an element as a file of its own, its colours for light and dark included.
std::string SvgFile(std::string_view inline_svg);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_FIGURE_H_
