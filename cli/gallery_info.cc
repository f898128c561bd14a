// SPDX-License-Identifier: Apache-2.0
// info and stats: what a gallery is, and how it does.
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/gallery_commands.h"
#include "heft/results.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, gallery;
};

absl::StatusOr<GalleryInfo> Read(const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const auto model, LoadModelIfGiven(options.model));
  return DescribeGallery(options.gallery, model ? &*model : nullptr);
}

std::string HeadText(const GalleryInfo& info) {
  return absl::StrCat(
      "gallery ", info.name, ", id ", HexString(info.id), ", made ", TimeText(info.started),
      "\nmodel ", HexString(info.model), ", key ", HexString(info.key), ", ", info.gamma,
      " dimensions\ngeneration ", info.generation, ", root ", HexString(info.root), "\n", info.live,
      " templates in ", info.places, " places of ", info.blocks, " blocks; ", info.waiting,
      " wait, ", info.leaving,
      " are leaving\ngalleries of the store: ", absl::StrJoin(info.galleries, ", "));
}

absl::Status RunInfo(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, Read(options));
  Print(common, GalleryJson(info), HeadText(info));
  return absl::OkStatus();
}

absl::Status RunStats(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, Read(options));
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  Json json = GalleryJson(info);
  json["key_age_seconds"] = now - std::min(now, info.key_since);
  std::string text = absl::StrCat(
      HeadText(info), "\n", info.freed, " places freed; journal: ", info.journal_entries,
      " entries, ", info.journal_bytes, " bytes, ", info.unfolded,
      " in no block yet\nstore: ", info.store_bytes, " bytes on disk, ", info.store_live_bytes,
      " in use, ", info.readers, " readers\nkey: since ", TimeText(info.key_since),
      "; verified: ", TimeText(info.verified));
  if (info.verified != 0) absl::StrAppend(&text, info.intact ? ", intact" : ", DAMAGED");
  absl::StrAppend(&text, "\nnoise margin: ",
                  info.noise_margin ? absl::StrCat(*info.noise_margin) : "give --model");
  Print(common, json, text);
  return absl::OkStatus();
}

void Add(Command group, const std::string& name, const std::string& description,
         const std::string& more,
         absl::Status (*run)(const Common& common, const Options& options)) {
  const auto [command, options] =
      AddCommand(group, name, description, "heft-server gallery " + name + more, run);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("-m,--model", &options->model, "model file: checked, and for the noise margin");
}

}  // namespace

void AddGalleryInfo(Command group) {
  Add(group, "info", "say what a gallery is: ids, generation, sizes", " --gallery gallery",
      RunInfo);
}

void AddGalleryStats(Command group) {
  Add(group, "stats", "say how a gallery does: sizes, journal, noise, age of the key, last check",
      " --gallery gallery --model m.heft --json", RunStats);
}

}  // namespace heft::cli
