// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/server_options.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  EnrolOptions enrol;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> files, ReadSamples(options));
  HEFT_ASSIGN_OR_RETURN(const Server server, LoadServer(options, /*enrols=*/true));
  HEFT_ASSIGN_OR_RETURN(const EnrolResult done, server.Enrol(options.gallery, std::move(files),
                                                             options.enrol, common.monitor));
  Print(common, {{"enrolled", done.added}, {"templates", done.templates}, {"blocks", done.blocks}},
        absl::StrCat("enrolled ", done.added, " templates; the gallery holds ", done.templates));
  return absl::OkStatus();
}

}  // namespace

void AddEnrol(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "enrol", "fuse encrypted samples and add them to an encrypted gallery (server)",
      "heft enrol --model m.heft --keys evaluation.keys --gallery gallery "
      "--in face.ct --in voice.ct",
      [options](const Common& common) { return Run(common, *options); });
  AddServerOptions(command, options.get());
  AddEnrolmentKeys(command, options.get());
  command.Add("--identity", &options->enrol.identity,
              "enrol all samples under this identity instead of their labels");
  command.Add("--accept-fused", &options->enrol.accept_fused,
              "take templates that a client has fused (heft encrypt --fuse client): nobody checks "
              "their length, and a longer one scores higher with everybody");
  command.Add("--all-pairs", &options->enrol.all_pairs,
              "every combination of an identity's samples, one a modality");
}

}  // namespace heft::cli
