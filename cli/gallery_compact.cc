// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  std::string receipts;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  HEFT_ASSIGN_OR_RETURN(const CompactResult done, CompactGallery(loaded.server, options.gallery));
  Remember(common, options.gallery);
  Json damaged = Json::array();
  for (const DamagedBlock& block : done.damaged) {
    damaged.push_back(block.block);
    Warn(common, block.why);
  }
  Json json = {{"blocks", done.blocks},
               {"mended", done.mended},
               {"damaged", damaged},
               {"sparse", done.sparse},
               {"leaving", done.leaving}};
  std::string text = absl::StrCat("the journal has joined ", done.blocks, " blocks");
  if (done.mended > 0) {
    absl::StrAppend(&text, "; ", done.mended, " damaged ones were made again from it");
  }
  if (done.sparse > 0) {
    absl::StrAppend(&text, "; ", done.sparse, " of them are sparse, or hold ", done.leaving,
                    " templates that leave: `heft-server gallery renew --compact` asks the key "
                    "owner to make them few");
  }
  HEFT_RETURN_IF_ERROR(GiveReceipts(common, options.receipts, options.gallery, done.receipts,
                                    done.overwritten, &json, &text));
  Print(common, json, text);
  return done.overwritten;
}

}  // namespace

void AddGalleryCompact(Command group) {
  const auto [command, options] = AddCommand(
      group, "compact", "let the journal join the blocks, and overwrite what was deleted",
      "heft-server gallery compact --model m.heft --keys evaluation.keys --gallery gallery", Run);
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  AddReceiptFolder(command, &options->receipts);
}

}  // namespace heft::cli
