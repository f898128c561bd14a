// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "heft/results.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  std::string from;
  bool accept_older = false, without_receipts = false;
  std::vector<std::string> receipts;
};

absl::Status Run(const Common& common, const Options& options) {
  SetWriterWait(options.wait);
  RestoreOptions restore;
  restore.accept_older = options.accept_older;
  restore.without_receipts = options.without_receipts;
  HEFT_ASSIGN_OR_RETURN(restore.receipts, ReadFiles(options.receipts));
  std::optional<TrustedServer> loaded;
  if (!options.model.empty()) {
    HEFT_ASSIGN_OR_RETURN(loaded, LoadServer(common, options, /*enrols=*/false));
    restore.server = &loaded->server;
    if (loaded->trust) restore.trust = &*loaded->trust;
  }
  HEFT_ASSIGN_OR_RETURN(const RestoreResult done,
                        Restore(options.from, options.gallery, restore, common.monitor));
  SayNevertheless("it has been restored all the same");
  std::string text = options.from.empty()
                         ? absl::StrCat("taken as it is: ", options.gallery)
                         : absl::StrCat("restored ", options.from, " to ", options.gallery);
  for (const CopiedGallery& gallery : done.galleries) {
    Remember(common, options.gallery + ":" + gallery.name);
    absl::StrAppend(&text, "\n", gallery.name, ": generation ", gallery.generation);
  }
  if (done.older) {
    absl::StrAppend(&text, "\nan older copy: ", done.erased, " templates erased again, ",
                    done.leaving, " wait for the key owner (heft-server gallery renew), ",
                    done.rejected, " that waited are to be brought again");
  }
  Print(common,
        {{"galleries", CopiesJson(done.galleries)},
         {"older", done.older},
         {"erased", done.erased},
         {"leaving", done.leaving},
         {"rejected", done.rejected}},
        text);
  return absl::OkStatus();
}

}  // namespace

void AddGalleryRestore(Command group) {
  const auto [command, options] = AddCommand(
      group, "restore",
      "put a snapshot in the place of a folder's galleries, or take those of a database that came "
      "back "
      "from its own backups as they are",
      "heft-server gallery restore --from backup/monday --gallery gallery\n"
      "  heft-server gallery restore --from backup/sunday --gallery gallery --accept-older "
      "--model m.heft --keys evaluation.keys\n"
      "  heft-server gallery restore --gallery postgres:people --accept-older --model m.heft "
      "--keys "
      "evaluation.keys",
      Run);
  command.Add("--from", &options->from,
              "what heft-server gallery snapshot wrote; not for a database");
  command.Add("-g,--gallery", &options->gallery, "the galleries' folder, or postgres:SERVICE")
      .Required();
  command.Add("--accept-older", &options->accept_older,
              "take a copy that is older than what is there or is remembered; whoever was erased "
              "since is removed again, for which it takes --model and --keys");
  command.Add("--receipts", &options->receipts,
              "receipts of erasure that the folder does not have itself, signed by its server, the "
              "snapshot's, or one that the trust file lists");
  command.Add(
      "--without-receipts", &options->without_receipts,
      "take an older copy although not all receipts of what it replaces can be read, or, of a "
      "database, none are here: who was erased since may be there again");
  const Option model = command.Add("-m,--model", &options->model, "model file");
  const Option keys = command.Add("-k,--keys", &options->keys, "evaluation keys");
  model.Needs(keys);
  keys.Needs(model);
  AddKeyCache(command, options.get());
  AddTrustOptions(command, &options->trust, "the evaluation keys");
  AddWait(command, &options->wait);
}

}  // namespace heft::cli
