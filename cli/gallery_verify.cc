// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/gallery_commands.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, gallery;
  int wait = kWriterWait;
};

absl::Status Run(const Common& common, const Options& options) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(const auto model, LoadModelIfGiven(options.model));
  HEFT_ASSIGN_OR_RETURN(const VerifyResult found,
                        VerifyGallery(options.gallery, model ? &*model : nullptr, common.monitor));
  if (!found.recorded.ok()) {
    Warn(common, absl::StrCat("the gallery could not be told: ", found.recorded.message()));
  }
  Print(common,
        {{"intact", found.intact()},
         {"generation", found.generation},
         {"blocks", found.blocks},
         {"damaged", found.damaged},
         {"complaints", found.complaints}},
        found.intact()
            ? absl::StrCat("intact: ", found.blocks, " blocks, generation ", found.generation)
            : absl::StrJoin(found.complaints, "\n"));
  if (found.intact()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      options.gallery, ": damaged",
      found.damaged.empty() ? ""
                            : absl::StrCat(" (blocks ", absl::StrJoin(found.damaged, ", "), ")"),
      ": bring it back from a snapshot (`heft-server gallery restore`); the rest of it serves"));
}

}  // namespace

void AddGalleryVerify(Command group) {
  const auto [command, options] = AddCommand(
      group, "verify", "check all of a gallery against its hashes, and name what is damaged",
      "heft-server gallery verify --gallery gallery --model m.heft", Run);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("-m,--model", &options->model, "model file: residues are held against its primes");
  AddWait(command, &options->wait);
}

}  // namespace heft::cli
