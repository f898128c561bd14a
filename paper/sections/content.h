// SPDX-License-Identifier: Apache-2.0
// What a section found: one description, of which both the page and the JSON
// are made, so that they hold the same numbers.
#ifndef HEFT_PAPER_SECTIONS_CONTENT_H_
#define HEFT_PAPER_SECTIONS_CONTENT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/bootstrap.h"
#include "heft/json.h"

namespace heft::paper {

// Format: how the numbers of a column are printed.
enum class Format {
  kText,
  kCount,         // 10,760
  kScore,         // 0.9755
  kDifference,    // +0.0012
  kSmall,         // two significant digits: 0.00012
  kPercent,       // a share: 21.3%
  kMilliseconds,  // 3.14, and fewer digits for more
  kBytes,         // 1.5 MB
};

struct Column {
  std::string key;    // for programs
  std::string label;  // for people; empty: not on the page
  Format format = Format::kText;
  bool of_paper = false;  // published, not measured
};

// Table: a cell is null (empty), text, a number, a truth value, or a number with its interval
// {"value", "lo", "hi"}.
struct Table {
  std::string id, caption;
  std::vector<Column> columns;
  std::vector<std::vector<Json>> rows = {};  // of columns.size() cells
  std::vector<size_t> main_rows = {};        // set off from the others
};

// Cell: one with an interval.
inline Json Cell(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

// Mark: what is drawn with a curve's points.
enum class Mark { kLine, kSteps, kDots, kIntervals };

struct Curve {
  std::string label;  // empty: not in the key
  std::vector<std::pair<double, double>> points = {};
  int colour = 0;  // index into the chart's colours
  bool dashed = false;
  Mark mark = Mark::kLine;
  std::vector<std::pair<double, double>> intervals = {};  // of y, for kIntervals
};

struct Chart {
  std::string id, title, caption;
  std::string x_label, y_label;
  bool log_x = false, log_y = false;
  std::optional<std::pair<double, double>> x_range = {}, y_range = {};
  std::vector<double> verticals = {};  // dashed lines
  std::vector<Curve> curves = {};
};

struct Section {
  std::string id;
  std::string title;
  std::string paper;               // what it stands for there: "Table 2, figure 6a"
  std::vector<std::string> text;   // paragraphs: what was measured, and how
  std::vector<std::string> notes;  // where and why we differ from the paper
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<Table> tables;
  std::vector<Chart> charts;
  double seconds = 0;
};

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_CONTENT_H_
