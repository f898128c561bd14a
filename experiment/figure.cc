// SPDX-License-Identifier: Apache-2.0
#include "experiment/figure.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/files.h"
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

void Figure::Mark(double x, std::string_view text, double height, std::string_view where) {
  Mark(x);
  Line(absl::StrFormat("set label %s at first %.9g, graph %.3g %s front font ',12' textcolor %s",
                       GnuplotQuote(text), x, height, std::string(where), Rgb(kInk)));
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
    return absl::InternalError("gnuplot did not write the expected SVG");
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
      "\n<style>\nsvg text { paint-order: stroke; stroke: var(--page); stroke-width: .3em; }\n"
      "svg { --page: #ffffff; --ink: #1d232b; --muted: #5d6773; --grid: #e3e7ec; --plain: "
      "#4a90d9;\n"
      "  --encrypted: #c2410c; --first: #7a8794; --second: #b98a2e; --third: #4d8f6a; }\n"
      "@media (prefers-color-scheme: dark) { svg { --page: #14181d; --ink: #e4e8ec; --muted: "
      "#98a3af;\n"
      "  --grid: #2c333b; --plain: #4f8fd0; --encrypted: #ff9a5c; --first: #8c99a6;\n"
      "  --second: #c99f4a; --third: #6bb58c; } }\n</style>\n",
      std::string(inline_svg.substr(inline_svg.find('>') + 1)), "\n");
}

namespace {

constexpr char kScript[] = "plots.gp";
constexpr char kMessages[] = "messages.txt";

// A folder that goes when this object does.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Create() {
    std::error_code error;
    const std::filesystem::path base = std::filesystem::temp_directory_path(error);
    if (error) return absl::UnavailableError("no folder for temporary files: set TMPDIR");
    std::string path = (base / "heft-plots-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
    }
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string File(const std::string& name) const { return absl::StrCat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs gnuplot with one argument in `folder`, its output in `messages` there; returns its exit
// status.
absl::StatusOr<int> Spawn(const char* argument, const std::string& folder, const char* messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string name = "gnuplot", copy = argument;
  char* const arguments[] = {name.data(), copy.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    return absl::UnavailableError(
        "gnuplot, which draws the report's plots, is not installed: run "
        "scripts/install-dependencies, or leave --report out");
  }
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot run gnuplot: ", std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot run gnuplot: ", std::strerror(errno)));
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

absl::Status CheckGnuplot() {
  HEFT_ASSIGN_OR_RETURN(const int status, Spawn("--version", "/", "/dev/null"));
  if (status == 0) return absl::OkStatus();
  return absl::UnavailableError("gnuplot does not run: try \"gnuplot --version\"");
}

absl::StatusOr<std::vector<std::string>> RunGnuplot(const GnuplotJob& job) {
  HEFT_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create());
  for (const auto& [name, content] : job.inputs) {
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder.File(name), std::string_view(content)));
  }
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder.File(kScript), std::string_view(job.script)));
  HEFT_ASSIGN_OR_RETURN(const int status, Spawn(kScript, folder.path(), kMessages));
  if (status != 0) {
    const auto messages = ReadTextFile(folder.File(kMessages), 1 << 20);
    return absl::InternalError(absl::StrCat(
        "gnuplot failed: ", messages.ok() ? absl::StripAsciiWhitespace(*messages) : "no message"));
  }
  std::vector<std::string> outputs;
  for (const std::string& name : job.outputs) {
    HEFT_ASSIGN_OR_RETURN(std::string content, ReadTextFile(folder.File(name)));
    outputs.push_back(std::move(content));
  }
  return outputs;
}

std::string GnuplotQuote(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) continue;  // a line break would end the command
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

}  // namespace heft::experiment
