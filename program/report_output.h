// SPDX-License-Identifier: Apache-2.0
// The output of commands that measure: a page, its pictures, and the scores behind it.
#ifndef HEFT_PROGRAM_REPORT_OUTPUT_H_
#define HEFT_PROGRAM_REPORT_OUTPUT_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "heft/evaluate.h"
#include "program/common.h"
#include "program/flags.h"

namespace heft::cli {

// ReportFlags: empty ones were not asked for.
struct ReportFlags {
  std::string page, pictures;
  std::string scores;  // FILE or FORM=FILE
  bool Drawn() const { return !page.empty() || !pictures.empty(); }
};

// AddReportOptions: the options --report and --pictures.
std::pair<Option, Option> AddReportOptions(Command command, ReportFlags* flags);
// `of`: the name of the scores that --scores writes, for --help.
Option AddScoreOptions(Command command, const std::string& of, ReportFlags* flags);

// CheckReport: whether all can be written, before long work.
absl::Status CheckReport(const ReportFlags& flags);

// FinishReport writes the requested files, shows the warnings and prints the report.
absl::Status FinishReport(const Common& common, const ReportFlags& flags, Report report);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_REPORT_OUTPUT_H_
