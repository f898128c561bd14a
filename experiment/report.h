// SPDX-License-Identifier: Apache-2.0
// An evaluation as one self-contained HTML page: no script, nothing loaded from elsewhere.
#ifndef HEFT_EXPERIMENT_REPORT_H_
#define HEFT_EXPERIMENT_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "experiment/evaluation.h"

namespace heft::experiment {

struct Plots;

std::string MakeReport(const Evaluation& evaluation, const Plots& plots);

// A whole page: `title` is text, `body` HTML.
std::string HtmlPage(std::string_view title, std::string_view body);

// The section that tells how to make a report again; `command` is text.
std::string ReproduceHtml(const std::string& command);

// `text` with & < > " ' replaced, for elements and attributes.
std::string EscapeHtml(std::string_view text);

// `text` as one word of a shell command, in single quotes where it needs them.
std::string ShellWord(std::string_view text);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_REPORT_H_
