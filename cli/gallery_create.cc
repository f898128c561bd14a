// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  size_t seconds = Retained{}.seconds, bytes = Retained{}.bytes;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const LoadedServer loaded, LoadServer(common, options, /*enrols=*/false));
  HEFT_ASSIGN_OR_RETURN(const GalleryId id, CreateGallery(loaded.server, options.gallery,
                                                          {options.seconds, options.bytes}));
  SayNevertheless("the gallery was made all the same");
  HEFT_RETURN_IF_ERROR(GallerySigner(options.gallery).status());
  Print(common, {{"gallery", options.gallery}, {"gallery_id", HexString(id)}},
        absl::StrCat("made gallery ", options.gallery, ", id ", HexString(id)));
  return absl::OkStatus();
}

}  // namespace

void AddGalleryCreate(Command group) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      group, "create", "make an empty gallery for templates under a model and keys",
      "heft-server gallery create --model m.heft --keys evaluation.keys --gallery store:visitors",
      [options](const Common& common) { return Run(common, *options); });
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  command
      .Add("--retention", &options->seconds,
           "seconds for which enrolments can be rolled back, and removed by the server alone")
      .ShowDefault();
  command.Add("--retention-bytes", &options->bytes, "of them, so many bytes at most").ShowDefault();
}

}  // namespace heft::cli
