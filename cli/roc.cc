// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/commands.h"
#include "heft/evaluate.h"
#include "program/common.h"
#include "program/report_output.h"

namespace heft::cli {
namespace {

struct Options {
  std::vector<std::string> files;  // or genuine=FILE and impostor=FILE
  std::string split;
  ScoreOptions how;
  ReportFlags output;
};

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
    return absl::InvalidArgumentError(
        "PyEER's lists come in pairs: give genuine=FILE and impostor=FILE");
  }
  HEFT_ASSIGN_OR_RETURN(ScoreTable table, ReadScoreLists(lists, histogram));
  systems->push_back({lists.genuine, std::move(table)});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedScores>> ReadAll(const Options& options) {
  std::vector<NamedScores> systems;
  std::vector<std::string> files = options.files;
  HEFT_RETURN_IF_ERROR(ReadLists(&files, &systems));
  for (const std::string& file : files) {
    HEFT_ASSIGN_OR_RETURN(ScoreTable table, ReadScores(file));
    if (!options.split.empty()) {
      absl::StatusOr<ScoreTable> part = SelectSplit(table, options.split);
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

absl::Status Run(const Common& common, const Options& options) {
  HEFT_RETURN_IF_ERROR(CheckReport(options.output));
  HEFT_ASSIGN_OR_RETURN(std::vector<NamedScores> systems, ReadAll(options));
  if (!options.output.scores.empty() && systems.size() != 1) {
    return absl::InvalidArgumentError("--scores writes the scores of one file");
  }
  ScoreOptions how = options.how;
  how.page = !options.output.page.empty();
  how.pictures = !options.output.pictures.empty();
  how.command = common.command;
  HEFT_ASSIGN_OR_RETURN(Report report, MeasureScores(systems, how, common.monitor));
  if (!options.output.scores.empty()) report.scores = std::move(systems[0].table);
  return FinishReport(common, options.output, std::move(report));
}

}  // namespace

void AddRoc(Command app) {
  const auto [command, options] =
      AddCommand(app, "roc", "measure error rates of score files: HEFT's, bob.bio's or PyEER's",
                 "heft roc scores.csv --report roc.html", Run);
  command
      .Add("FILE", &options->files,
           "scores: CSV of heft evaluate --scores or bob.bio, or bob.bio's four or five columns; "
           "each file is a system. PyEER: genuine=FILE and impostor=FILE, scores in the last "
           "column, or impostor-counts=FILE, whose line k, from 0, is the number of scores k")
      .Required();
  command.Add("--split", &options->split,
              "use only the comparisons of this split, if files have splits");
  command.Add("--fmr", &options->how.fmrs, "false match rates for which to find thresholds")
      .ShowDefault();
  command.Add("--all-points", &options->how.curve,
              "with --json: every point of the ROC as [threshold, FMR, FNMR]");
  AddReportOptions(command, &options->output);
  AddScoreOptions(command, "the scores of one file, also in another form,", &options->output);
  command.Add("--seed", &options->how.seed, "random seed of the bootstrap (default 1)");
  command.Add("--replicates", &options->how.replicates, "number of bootstrap samples")
      .Range(10, 1000000)
      .ShowDefault();
}

}  // namespace heft::cli
