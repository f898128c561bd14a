// SPDX-License-Identifier: Apache-2.0
// heft-paper reproduce: the paper's tables and figures, measured on this engine.
#include "paper/reproduce.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "paper/program/commands.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct Options {
  paper::ReproductionOptions what;
  std::string out;
};

std::string ToText(const paper::Reproduction& r, const Options& options) {
  std::string text;
  for (const paper::Section& section : r.sections) {
    absl::StrAppendFormat(&text, "%-12s %6.1f s  %s\n", section.id, section.seconds, section.title);
  }
  absl::StrAppendFormat(&text, "%.0f s in all\nreport: %s\nnumbers: %s\n", r.seconds, options.out,
                        paper::JsonPath(options.out));
  return text;
}

absl::Status Run(const Common& common, const Options& given) {
  Options options = given;
  HEFT_RETURN_IF_ERROR(paper::CheckPagePath(options.out));
  options.what.left_out = [&](const auto& names) { SayLeftOut(common, names); };
  HEFT_ASSIGN_OR_RETURN(paper::Reproduction result, paper::Reproduce(common.monitor, options.what));
  result.command = common.command;
  HEFT_ASSIGN_OR_RETURN(const std::string page, paper::MakePage(result));
  const Json json = paper::ToJson(result);
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, page));
  HEFT_RETURN_IF_ERROR(WriteResult(paper::JsonPath(options.out), json.dump(1) + "\n"));
  Print(common, json, ToText(result, options));
  return absl::OkStatus();
}

}  // namespace

void AddReproduce(Command app) {
  const auto [command, options] = AddCommand(
      app, "reproduce", "measure the paper's tables and figures: a page, and the numbers as JSON",
      "heft-paper reproduce --data lfw-speech --out report.html --only table2,fig5", Run);
  command.Add("-d,--data", &options->what.data,
              "data folder, also of the paper's published text files (default: synthetic "
              "data of the paper's size)");
  command.Add("-o,--out", &options->out, "the page, NAME.html; the numbers go to NAME.json")
      .Required();
  command.Add("--only", &options->what.only,
              "sections, apart by commas: the paper's tables and figures by number, and "
              "others; an unknown one lists them all");
  command.Add("--quick", &options->what.quick, "less of everything: minutes, and rough numbers");
  command.Add("--seed", &options->what.seed, "of folds, training and synthetic data").ShowDefault();
  command.Add("--exact-projection", &options->what.exact_projection,
              "published matrix, learned with exact normalisation: table 2 on the data's "
              "own test split without any training");
  command.Add("--aware-projection", &options->what.aware_projection,
              "published matrix, learned with HEFT");
}

}  // namespace heft::cli
