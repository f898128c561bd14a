// SPDX-License-Identifier: Apache-2.0
#include "heft/inspect.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct InspectFlags {
  std::string path, trust;
  bool plan = false;
  Describe describe = nullptr;
};

// PartOf: the kind of a file that has no envelope because it is a part of a folder, by its name;
// empty for others.
std::string PartOf(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.starts_with("store.sqlite") || name == "store.blocks")
    return "part of a gallery's store";
  if (name.starts_with("once.sqlite")) return "table of the requests that a server has taken";
  if (name == "workspace.txt") return "mark of a workspace";
  if (name == "keys.made") return "mark that a gallery has its server's keys";
  return name == "lock" || name.ends_with(".lock") ? "lock of a folder" : "";
}

absl::Status RunInspect(const Common& common, const InspectFlags& options) {
  std::optional<Trust> trust;
  if (!options.trust.empty()) {
    HEFT_ASSIGN_OR_RETURN(trust, Trust::Load(options.trust));
  }
  absl::StatusOr<Described> described =
      options.describe(options.path, options.plan, trust ? &*trust : nullptr);
  const std::string part = PartOf(options.path);
  if (absl::IsDataLoss(described.status()) && !part.empty()) {
    described = Described{{{"kind", part}}};
    described->text = absl::StrCat(part, ": inspect its folder");
  }
  HEFT_RETURN_IF_ERROR(described.status());
  Print(common, *described);
  return absl::OkStatus();
}

}  // namespace

void AddInspect(Command app, Describe describe) {
  const auto [command, options] = AddCommand(
      app, "inspect", "describe a file or folder, whatever it is, and check that it is intact",
      "heft inspect m.heft --plan\n"
      "  heft inspect scores.ct --trust trust.heft",
      RunInspect);
  command
      .Add("path", &options->path, "file, or folder: a gallery (or FOLDER:NAME), a workspace, data")
      .Required();
  options->describe = describe;
  command.Add("--trust", &options->trust,
              "for a signed file: check that this trust file lists its signer");
  command.Add("--plan", &options->plan,
              "for a model: levels, rotations, keys and operation counts");
}

}  // namespace heft::cli
