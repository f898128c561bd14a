// SPDX-License-Identifier: Apache-2.0
// snapshot, export and import: copies of galleries.
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "heft/results.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct Options {
  std::string gallery, out, from, model;
  TrustOptions trust;
  bool with_keys = false;
  int wait = kWriterWait;
};

absl::Status RunSnapshot(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const auto copied,
                        Snapshot(options.gallery, options.out, options.with_keys, common.monitor));
  std::string text = absl::StrCat("copied to ", options.out, ":");
  for (const CopiedGallery& gallery : copied) {
    absl::StrAppend(&text, " ", gallery.name, " (generation ", gallery.generation, ")");
  }
  Print(common, {{"out", options.out}, {"galleries", CopiesJson(copied)}}, text);
  return absl::OkStatus();
}

absl::Status RunExport(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const CopiedGallery copied,
                        ExportGallery(options.gallery, options.out, common.monitor));
  Print(common,
        {{"out", options.out},
         {"gallery_id", HexString(copied.id)},
         {"generation", copied.generation}},
        absl::StrCat("exported generation ", copied.generation, " to ", options.out));
  return absl::OkStatus();
}

absl::Status RunImport(const Common& common, const Options& options) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(const auto model, LoadModelIfGiven(options.model));
  HEFT_ASSIGN_OR_RETURN(
      const CopiedGallery copied,
      ImportGallery(options.from, options.gallery, model ? &*model : nullptr, common.monitor));
  SayNevertheless("the gallery was imported all the same");
  Remember(common, options.gallery);
  Print(common,
        {{"gallery", options.gallery},
         {"gallery_id", HexString(copied.id)},
         {"generation", copied.generation}},
        absl::StrCat("imported generation ", copied.generation, " as ", options.gallery));
  return absl::OkStatus();
}

}  // namespace

void AddGallerySnapshot(Command group) {
  const auto [command, options] =
      AddCommand(group, "snapshot", "copy a folder's galleries, all in one state, while they serve",
                 "heft-server gallery snapshot --gallery gallery --out backup/monday", RunSnapshot);
  command.Add("-g,--gallery", &options->gallery, "the galleries' folder").Required();
  command.Add("-o,--out", &options->out, "new folder for the copy").Required();
  command.Add("--with-keys", &options->with_keys,
              "and the server's secret keys and log of requests: who has the copy can answer in "
              "its name");
}

void AddGalleryExport(Command group) {
  const auto [command, options] =
      AddCommand(group, "export", "copy one gallery, alone, into a new folder",
                 "heft-server gallery export --gallery store:visitors --out visitors", RunExport);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("-o,--out", &options->out, "new folder").Required();
}

void AddGalleryImport(Command group) {
  const auto [command, options] = AddCommand(
      group, "import", "bring an exported gallery, or one of version 0.1, into a store",
      "heft-server gallery import --from old-gallery --gallery gallery --model m.heft", RunImport);
  command
      .Add("--from", &options->from,
           "what heft-server gallery export wrote, a gallery of another store, or a folder of "
           "version 0.1")
      .Required();
  command
      .Add("-g,--gallery", &options->gallery,
           "where it is to be, FOLDER or FOLDER:NAME; for one of version 0.1 it may be the same "
           "folder")
      .Required();
  command.Add("-m,--model", &options->model, "model file, for a gallery of version 0.1");
  AddWait(command, &options->wait);
}

}  // namespace heft::cli
