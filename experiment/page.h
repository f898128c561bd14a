// SPDX-License-Identifier: Apache-2.0
// Self-contained HTML pages: no script, nothing loaded from elsewhere, light and dark. All reports
// are made of this.
#ifndef HEFT_EXPERIMENT_PAGE_H_
#define HEFT_EXPERIMENT_PAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heft::experiment {

// EscapeHtml: `text` with & < > " ' replaced, for elements and attributes.
std::string EscapeHtml(std::string_view text);

// Numbers as they are printed, with the printers' minus sign. What rounds to nothing has no sign.
std::string Fixed(double value, int digits);
std::string Signed(double value, int digits);  // "+0.0012"
std::string Significant(double value);         // two digits: "0.00012"
std::string Percent(double share);             // "21.3%", "4.71%"
std::string Count(int64_t value);              // "35,599"
std::string Seconds(double seconds);
std::string Milliseconds(double ms);
// WithInterval: a cell of a number and, small below it, its interval.
std::string WithInterval(const std::string& value, const std::string& lo, const std::string& hi);

// PageTable: labels and caption are text, cells HTML.
struct PageTable {
  struct Column {
    std::string label;
    bool text = false;       // set to the left, may be broken; the first column always is
    bool published = false;  // a number that others measured
  };
  struct Row {
    std::vector<std::string> cells;
    bool main = false;  // set off from the others
  };
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  std::string caption = "";
};

// PageFigure: a picture as InlineSvg gives it. Title and caption are text.
struct PageFigure {
  std::string svg, title, caption;
};

using PageFacts = std::vector<std::pair<std::string, std::string>>;

// Page: built from top to bottom. Arguments are text unless they are called html.
class Page {
 public:
  explicit Page(std::string_view window_title) : title_(EscapeHtml(window_title)) {}

  void Title(std::string_view text);                                 // h1
  void Heading(std::string_view text, std::string_view aside = "");  // h2
  void Subheading(std::string_view text);                            // h3
  void Paragraph(std::string_view text);
  void Note(std::string_view text);  // muted
  void Table(const PageTable& table);
  void Facts(const PageFacts& facts);
  void Figures(const std::vector<PageFigure>& figures);
  // Nothing where there are no items. The classes "warnings", "losses" and "deviations" stand
  // out.
  void List(const std::vector<std::string>& items, std::string_view html_class = "");
  // The section that tells how to make the page again.
  void Reproduce(std::string_view command);
  void Html(std::string_view html);

  std::string Finish() const;

 private:
  void Element(std::string_view tag, std::string_view text);
  std::string title_, body_;
};

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_PAGE_H_
