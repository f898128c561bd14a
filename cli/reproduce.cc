// SPDX-License-Identifier: Apache-2.0
// heft-paper reproduce: the paper's tables and figures, measured on this engine.
#include <filesystem>
#include <iostream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "experiment/evaluation.h"
#include "experiment/gnuplot.h"
#include "experiment/machine.h"
#include "experiment/page.h"
#include "features/synthetic.h"
#include "paper/page.h"
#include "paper/sections.h"
#include "paper/study.h"

namespace heft::cli {
using namespace experiment;  // NOLINT
using namespace paper;       // NOLINT

namespace {

using paper::Reproduction;
using paper::Section;
using paper::Study;

struct Options {
  std::string data, out, only, exact_projection, aware_projection;
  bool quick = false;
  uint64_t seed = 1;
};

// Synthetic people of the paper's number, or fewer with --quick.
SyntheticOptions SyntheticPeople(const Options& options) {
  SyntheticOptions people = PaperSize();
  people.seed = options.seed;
  if (options.quick) {
    people.identities = 60;
    people.all_pairs_of = {120, 600};
  }
  return people;
}

absl::StatusOr<Study> Load(const Common& common, const Options& options) {
  Study study{.monitor = common.monitor};
  study.synthetic = options.data.empty();
  if (study.synthetic) {
    HEFT_ASSIGN_OR_RETURN(study.data, SynthesiseDataset(SyntheticPeople(options)));
    study.data_name = "synthetic data";
    study.data_description =
        "vectors made up with the paper’s number of people and samples and statistics tuned to its "
        "AUROCs; no real people";
    if (options.quick) study.data_description += "; --quick: fewer of them";
  } else {
    HEFT_ASSIGN_OR_RETURN(study.data, LoadDataset(options.data, options.seed));
    SayLeftOut(common, study.data.left_out);
    study.data_name = std::filesystem::path(options.data + "/.").parent_path().filename().string();
    study.data_description = DescribeData(options.data);
  }
  study.quick = options.quick;
  study.seed = options.seed;
  study.exact_projection = options.exact_projection;
  study.aware_projection = options.aware_projection;
  study.effort = options.quick ? QuickEffort() : FullEffort();
  return study;
}

std::string CommandLine(const Options& options) {
  std::string command = "heft-paper reproduce";
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&command, " ", name, " ", ShellWord(value));
  };
  add("--data", options.data);
  add("--only", options.only);
  add("--exact-projection", options.exact_projection);
  add("--aware-projection", options.aware_projection);
  if (options.seed != 1) add("--seed", absl::StrCat(options.seed));
  if (options.quick) command += " --quick";
  return command + " --out " + ShellWord(options.out);
}

// "report.html" -> "report.json".
std::string JsonPath(const std::string& out) {
  return std::filesystem::path(out).replace_extension(".json").string();
}

absl::Status CheckOut(const std::string& out) {
  if (!absl::EndsWith(out, ".html")) {
    return absl::InvalidArgumentError(
        absl::StrCat(out, ": the report is a page, give it a name that ends in .html"));
  }
  const std::filesystem::path folder = std::filesystem::absolute(out).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    return absl::NotFoundError(absl::StrCat(folder.string(), ": no such folder for the report"));
  }
  return CheckGnuplot();
}

std::string ToText(const Reproduction& r, const Options& options) {
  std::string text;
  for (const Section& section : r.sections) {
    absl::StrAppendFormat(&text, "%-12s %6.1f s  %s\n", section.id, section.seconds, section.title);
  }
  absl::StrAppendFormat(&text, "%.0f s in all\nreport: %s\nnumbers: %s\n", r.seconds, options.out,
                        JsonPath(options.out));
  return text;
}

absl::Status Run(const Common& common, const Options& options) {
  const Stopwatch watch;
  HEFT_RETURN_IF_ERROR(CheckOut(options.out));
  HEFT_ASSIGN_OR_RETURN(const auto chosen, ChooseSections(options.only));
  if (options.exact_projection.empty() != options.aware_projection.empty()) {
    return absl::InvalidArgumentError(
        "give both published matrices, --exact-projection and --aware-projection, or none");
  }
  HEFT_ASSIGN_OR_RETURN(const Study study, Load(common, options));
  Reproduction result;
  result.data_name = study.data_name;
  result.data_description = study.data_description;
  result.samples = study.data.Rows();
  result.identities = static_cast<int>(
      std::set<std::string>(study.data.labels.begin(), study.data.labels.end()).size());
  for (const Modality& m : study.data.modalities) {
    result.modalities.emplace_back(m.name, static_cast<int>(m.features.cols()));
  }
  result.quick = options.quick;
  result.command = CommandLine(options);
  result.machine = Machine();
  for (const auto& spec : chosen) {
    const Stopwatch own;
    HEFT_ASSIGN_OR_RETURN(Section section, spec.make(study));
    if (Interrupted()) return absl::CancelledError("interrupted");
    section.seconds = own.Seconds();
    result.sections.push_back(std::move(section));
  }
  result.seconds = watch.Seconds();
  HEFT_ASSIGN_OR_RETURN(const std::string page, MakePage(result));
  const Json json = ToJson(result);
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, page));
  HEFT_RETURN_IF_ERROR(WriteResult(JsonPath(options.out), json.dump(1) + "\n"));
  Print(common, json, ToText(result, options));
  return absl::OkStatus();
}

}  // namespace

void AddReproduce(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "reproduce", "measure the paper's tables and figures: a page, and the numbers as JSON",
      "heft-paper reproduce --data lfw-speech --out report.html --only table2,fig5",
      [options](const Common& common) { return Run(common, *options); });
  command.Add("-d,--data", &options->data,
              "data folder, also of the paper's published text files (default: synthetic "
              "data of the paper's size)");
  command.Add("-o,--out", &options->out, "the page, NAME.html; the numbers go to NAME.json")
      .Required();
  command.Add("--only", &options->only,
              "sections, apart by commas: the paper's tables and figures by number, and "
              "others; an unknown one lists them all");
  command.Add("--quick", &options->quick, "less of everything: minutes, and rough numbers");
  command.Add("--seed", &options->seed, "of folds, training and synthetic data").ShowDefault();
  command.Add("--exact-projection", &options->exact_projection,
              "published matrix, learned with exact normalisation: table 2 on the data's "
              "own test split without any training");
  command.Add("--aware-projection", &options->aware_projection,
              "published matrix, learned with HEFT");
}

}  // namespace heft::cli
