// SPDX-License-Identifier: Apache-2.0
#include "program/report_output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "heft/score_files.h"
#include "program/outputs.h"

namespace heft::cli {
namespace {

// Writes the scores in the form asked for; PyEER's are two files.
absl::Status WriteScores(const ReportFlags& flags, const ScoreTable& table) {
  if (flags.scores_format == "pyeer") {
    const ScoreLists lists = FormatScoreLists(table);
    HEFT_RETURN_IF_ERROR(WriteResult(flags.scores + "-genuine.txt", lists.genuine));
    return WriteResult(flags.scores + "-impostor.txt", lists.impostor);
  }
  const ScoreForm form = flags.scores_format == "bob4"   ? ScoreForm::kBob4
                         : flags.scores_format == "bob5" ? ScoreForm::kBob5
                                                         : ScoreForm::kCsv;
  HEFT_ASSIGN_OR_RETURN(const std::string text, FormatScores(table, form));
  return WriteResult(flags.scores, text);
}

}  // namespace

void AddReportOptions(Command command, ReportFlags* flags) {
  command.Add("--report", &flags->page, "write a self-contained HTML page to this file");
  command.Add("--pictures", &flags->pictures,
              "write the report's pictures into this folder as SVG files");
}

void AddScoreOptions(Command command, const std::string& of, ReportFlags* flags) {
  const Option scores = command.Add("--scores", &flags->scores,
                                    absl::StrCat("write ", of, " to this file, one per line"));
  command
      .Add("--scores-format", &flags->scores_format,
           "csv (bob.bio's too), bob4 and bob5 (bob.bio's columns), or pyeer (two lists, "
           "FILE-genuine.txt and FILE-impostor.txt)")
      .Choices({"csv", "bob4", "bob5", "pyeer"})
      .ShowDefault()
      .Needs(scores);
}

absl::Status CheckReport(const ReportFlags& flags) {
  HEFT_RETURN_IF_ERROR(CheckFolderPlace(flags.pictures, "pictures"));
  if (flags.page.ends_with(".pdf")) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.page,
        ": a report is an HTML page, not PDF. Write one and print it with scripts/report-pdf ",
        "PAGE.html PAGE.pdf (Debian's chromium)"));
  }
  HEFT_RETURN_IF_ERROR(CheckFilePlace(flags.page, "report"));
  return CheckFilePlace(flags.scores, "scores");
}

absl::Status FinishReport(const Common& common, const ReportFlags& flags, Report report) {
  if (!flags.page.empty()) {
    HEFT_RETURN_IF_ERROR(WriteResult(flags.page, report.page));
    report.json["report"] = flags.page;
    absl::StrAppend(&report.text, "report: ", flags.page, "\n");
  }
  if (!flags.pictures.empty()) {
    HEFT_RETURN_IF_ERROR(WritePictures(flags.pictures, report.pictures));
    report.json["pictures"] = flags.pictures;
  }
  if (!flags.scores.empty()) {
    HEFT_RETURN_IF_ERROR(WriteScores(flags, report.scores));
    report.json["scores"] = flags.scores;
    absl::StrAppend(&report.text, "scores: ", flags.scores, "\n");
  }
  for (const std::string& warning : report.warnings) Warn(common, warning);
  Print(common, report.json, report.text);
  return absl::OkStatus();
}

}  // namespace heft::cli
