// SPDX-License-Identifier: Apache-2.0
#include "heft/inspect.h"

#include "cli/commands.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct Options {
  std::string path;
  bool plan = false;
  Describe describe = nullptr;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Described described, options.describe(options.path, options.plan));
  Print(common, described);
  return absl::OkStatus();
}

}  // namespace

void AddInspect(Command app, Describe describe) {
  const auto [command, options] = AddCommand(
      app, "inspect", "describe a file or folder, whatever it is, and check that it is intact",
      "heft inspect m.heft --plan", Run);
  command
      .Add("path", &options->path, "file, or folder: a gallery (or FOLDER:NAME), a workspace, data")
      .Required();
  options->describe = describe;
  command.Add("--plan", &options->plan,
              "for a model: levels, rotations, keys and operation counts");
}

}  // namespace heft::cli
