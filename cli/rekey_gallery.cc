// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/gallery_commands.h"
#include "heft/gallery.h"
#include "program/common.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, rekeying_key, gallery;
  TrustOptions trust;
  int wait = kWriterWait;
};

absl::Status Run(const Common& common, const Options& options) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(const auto from_owner, LoadKeyAndModel(options.trust, options.rekeying_key,
                                                               "RKEY", options.model));
  HEFT_ASSIGN_OR_RETURN(Gallery gallery, Gallery::Open(options.gallery));
  HEFT_ASSIGN_OR_RETURN(
      const Gallery::Rekeyed moved,
      gallery.Rekey(from_owner.model, from_owner.key, options.rekeying_key, common.monitor));
  Remember(common, options.gallery);
  const std::string from = HexString(moved.from), to = HexString(moved.to);
  Print(common,
        {{"templates", gallery.size()},
         {"blocks", gallery.blocks()},
         {"key_id", to},
         {"revoked_key_id", from}},
        absl::StrCat("moved ", gallery.size(), " templates in ", gallery.blocks(),
                     " blocks to key ", to, "; key ", from, " is revoked"));
  return absl::OkStatus();
}

}  // namespace

void AddRekeyGallery(Command app) {
  const auto [command, options] = AddCommand(
      app, "rekey-gallery", "move a gallery to another key without decrypting it (server)",
      "heft-server rekey-gallery --model m.heft --rekeying-key rekeying.key --gallery gallery",
      Run);
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--rekeying-key", &options->rekeying_key, "from `heft rekey`").Required();
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  AddWait(command, &options->wait);
  AddTrustOptions(command, &options->trust, "the re-keying key");
}

}  // namespace heft::cli
