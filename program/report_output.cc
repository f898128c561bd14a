// SPDX-License-Identifier: Apache-2.0
#include "program/report_output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "heft/evaluate.h"
#include "program/outputs.h"

namespace heft::cli {
namespace {

// A file, and the form of its scores: FILE (csv), bob4=FILE, bob5=FILE or pyeer=FILE.
struct ScoresPlace {
  std::string form = "csv", file;
};
ScoresPlace PlaceOf(const std::string& given) {
  for (const char* form : {"bob4", "bob5", "pyeer"}) {
    absl::string_view file = given;
    if (absl::ConsumePrefix(&file, absl::StrCat(form, "="))) return {form, std::string(file)};
  }
  return {.file = given};
}

// Writes the scores in the form asked for; PyEER's are two files.
absl::Status WriteScores(const ScoresPlace& place, const ScoreTable& table) {
  if (place.form == "pyeer") {
    const ScoreLists lists = FormatScoreLists(table);
    HEFT_RETURN_IF_ERROR(WriteResult(place.file + "-genuine.txt", lists.genuine));
    return WriteResult(place.file + "-impostor.txt", lists.impostor);
  }
  const ScoreForm form = place.form == "bob4"   ? ScoreForm::kBob4
                         : place.form == "bob5" ? ScoreForm::kBob5
                                                : ScoreForm::kCsv;
  HEFT_ASSIGN_OR_RETURN(const std::string text, FormatScores(table, form));
  return WriteResult(place.file, text);
}

}  // namespace

std::pair<Option, Option> AddReportOptions(Command command, ReportFlags* flags) {
  return {command.Add("--report", &flags->page, "write a self-contained HTML page to this file"),
          command.Add("--pictures", &flags->pictures,
                      "write the report's pictures into this folder as SVG files")};
}

Option AddScoreOptions(Command command, const std::string& of, ReportFlags* flags) {
  return command.Add(
      "--scores", &flags->scores,
      absl::StrCat("write ", of,
                   " to this file, one per line: FILE (CSV, bob.bio's too), bob4=FILE or "
                   "bob5=FILE (bob.bio's columns), or pyeer=FILE (two lists, "
                   "FILE-genuine.txt and FILE-impostor.txt)"));
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
  return CheckFilePlace(PlaceOf(flags.scores).file, "scores");
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
    const ScoresPlace place = PlaceOf(flags.scores);
    HEFT_RETURN_IF_ERROR(WriteScores(place, report.scores));
    report.json["scores"] = place.file;
    absl::StrAppend(&report.text, "scores: ", place.file, "\n");
  }
  for (const std::string& warning : report.warnings) Warn(common, warning);
  Print(common, report.json, report.text);
  return absl::OkStatus();
}

}  // namespace heft::cli
