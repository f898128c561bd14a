// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/server_files.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  EnrolOptions enrol;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const LoadedServer loaded, LoadServer(options));
  const Progress progress(common.monitor, "enrolling");
  HEFT_ASSIGN_OR_RETURN(
      const size_t added,
      loaded.server->Enrol(options.gallery, loaded.samples, options.enrol, progress.Callback()));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery,
                        loaded.server->OpenGallery(options.gallery, /*create=*/false));
  Print(common, {{"enrolled", added}, {"templates", gallery.size()}, {"blocks", gallery.blocks()}},
        absl::StrCat("enrolled ", added, " templates; the gallery holds ", gallery.size()));
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
  command.Add("--identity", &options->enrol.identity,
              "enrol all samples under this identity instead of their labels");
  command.Add("--all-pairs", &options->enrol.all_pairs,
              "every combination of an identity's samples, one a modality");
}

}  // namespace heft::cli
