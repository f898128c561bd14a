// SPDX-License-Identifier: Apache-2.0
// heft-paper counts: the paper's table 1 for a model, beside what this engine executes.
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "paper/methods/operation_formulae.h"
#include "paper/program/commands.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model;
  size_t samples = 1;
};

Json CostJson(const paper::StageCost& c) {
  return {{"additions", c.additions},
          {"plain_products", c.plain_products},
          {"ciphertext_products", c.ciphertext_products},
          {"rotations", c.rotations},
          {"depth", c.depth},
          {"ciphertexts", c.ciphertexts},
          {"plaintexts", c.plaintexts}};
}

std::string CostText(const char* of, const paper::StageCost& c) {
  return absl::StrFormat("  %-7s%9d%9d%9d%9d%7d%7d%7d\n", of, c.additions, c.plain_products,
                         c.ciphertext_products, c.rotations, c.depth, c.ciphertexts, c.plaintexts);
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  Json json = {{"samples", options.samples}};
  std::string text = absl::StrFormat("%-9s%9s%9s%9s%9s%7s%7s%7s\n", "", "add", "x plain", "x ctxt",
                                     "rotate", "depth", "ctxts", "plains");
  for (const paper::StageCounts& counts : paper::CountStages(model, options.samples)) {
    const std::string encoding = paper::TableEncodingName(counts.encoding),
                      stage = paper::PipelineStageName(counts.stage);
    json[absl::AsciiStrToLower(encoding)][stage] = {{"paper", CostJson(counts.paper)},
                                                    {"engine", CostJson(counts.engine)},
                                                    {"difference", counts.why}};
    absl::StrAppendFormat(&text, "%s, %s\n", encoding, stage);
    text += CostText("paper", counts.paper) + CostText("engine", counts.engine);
  }
  Print(common, json, text);
  return absl::OkStatus();
}

}  // namespace

void AddCounts(Command app) {
  const auto [command, options] = AddCommand(
      app, "counts", "operations of a model by the paper's table 1, and what this engine executes",
      "heft-paper counts model.heft --samples 64", Run);
  command.Add("model", &options->model, "model file").Required();
  command.Add("-n,--samples", &options->samples, "samples, and templates of the gallery")
      .Range(1, 1e9)
      .ShowDefault();
}

}  // namespace heft::cli
