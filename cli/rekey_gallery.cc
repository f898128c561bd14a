// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "fusion/rekey.h"
#include "gallery/gallery.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, rekeying_key, gallery;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(options.rekeying_key));
  HEFT_ASSIGN_OR_RETURN(const RekeyingKey key,
                        ParseRekeyingKey(*instance.context, bytes, options.rekeying_key));
  HEFT_ASSIGN_OR_RETURN(Gallery gallery, Gallery::Open(options.gallery));
  GalleryBinding expected = gallery.binding();
  expected.params_id = instance.params().id();
  expected.model_id = model.Id();
  expected.gamma = model.gamma;
  HEFT_RETURN_IF_ERROR(gallery.CheckBinding(expected));
  HEFT_RETURN_IF_ERROR(gallery.CheckBlockCount(2 * size_t{instance.params().slots()}));
  const Progress progress(common.monitor, "re-keying blocks");
  HEFT_RETURN_IF_ERROR(gallery.Rekey(instance, key, progress.Callback()));
  Print(
      common,
      {{"templates", gallery.size()},
       {"blocks", gallery.blocks()},
       {"key_id", HexString(key.to)},
       {"revoked_key_id", HexString(key.from)}},
      absl::StrCat("moved ", gallery.size(), " templates in ", gallery.blocks(), " blocks to key ",
                   HexString(key.to), "; key ", HexString(key.from), " is revoked"));
  return absl::OkStatus();
}

}  // namespace

void AddRekeyGallery(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "rekey-gallery", "move a gallery to another key without decrypting it (server)",
      "heft rekey-gallery --model m.heft --rekeying-key rekeying.key --gallery gallery",
      [options](const Common& common) { return Run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--rekeying-key", &options->rekeying_key, "from `heft rekey`").Required();
  command.Add("-g,--gallery", &options->gallery, "gallery folder").Required();
}

}  // namespace heft::cli
