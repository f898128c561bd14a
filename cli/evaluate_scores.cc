// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_scores.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "heft/evaluate.h"

namespace heft::cli {
namespace {

// ReadLists: PyEER's two files, if they are given; they are one system, and leave `files`.
absl::Status ReadLists(std::vector<std::string>* files, std::vector<NamedScores>* systems) {
  ScoreLists lists;
  bool histogram = false;
  std::erase_if(*files, [&](absl::string_view file) {
    if (absl::ConsumePrefix(&file, "genuine=")) {
      lists.genuine = std::string(file);
    } else if (absl::ConsumePrefix(&file, "impostor=")) {
      lists.impostor = std::string(file);
    } else if (absl::ConsumePrefix(&file, "impostor-counts=")) {
      lists.impostor = std::string(file);
      histogram = true;
    } else {
      return false;
    }
    return true;
  });
  if (lists.genuine.empty() && lists.impostor.empty()) return absl::OkStatus();
  if (lists.genuine.empty() || lists.impostor.empty()) {
    return WrongUsage("PyEER's lists come in pairs: give genuine=FILE and impostor=FILE");
  }
  HEFT_ASSIGN_OR_RETURN(ScoreTable table, ReadScoreLists(lists, histogram));
  systems->push_back({lists.genuine, std::move(table)});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedScores>> ReadAll(const ScoreFlags& flags) {
  std::vector<NamedScores> systems;
  std::vector<std::string> files = flags.files;
  HEFT_RETURN_IF_ERROR(ReadLists(&files, &systems));
  for (const std::string& file : files) {
    HEFT_ASSIGN_OR_RETURN(ScoreTable table, ReadScores(file));
    if (!flags.split.empty()) {
      absl::StatusOr<ScoreTable> part = SelectSplit(table, flags.split);
      if (!part.ok()) {
        return absl::Status(part.status().code(),
                            absl::StrCat(file, ": ", part.status().message()));
      }
      table = *std::move(part);
    }
    systems.push_back({file, std::move(table)});
  }
  return systems;
}

}  // namespace

absl::Status EvaluateScores(const Common& common, const ScoreFlags& flags,
                            const ReportFlags& output) {
  HEFT_RETURN_IF_ERROR(CheckReport(output));
  HEFT_ASSIGN_OR_RETURN(std::vector<NamedScores> systems, ReadAll(flags));
  if (!output.scores.empty() && systems.size() != 1) {
    return WrongUsage("--scores writes the scores of one file");
  }
  ScoreOptions how = flags.how;
  how.page = !output.page.empty();
  how.pictures = !output.pictures.empty();
  how.command = common.command;
  HEFT_ASSIGN_OR_RETURN(Report report, MeasureScores(systems, how, common.monitor));
  if (!output.scores.empty()) report.scores = std::move(systems[0].table);
  return FinishReport(common, output, std::move(report));
}

}  // namespace heft::cli
