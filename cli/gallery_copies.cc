// SPDX-License-Identifier: Apache-2.0
// snapshot and restore: all galleries of a folder; copy: one gallery.
#include <optional>

#include "cli/gallery_commands.h"
#include "heft/results.h"

namespace heft::cli {
namespace {

struct CopyFlags : ServerOptions {
  std::string out, from;
  std::vector<std::string> receipts;
  bool with_keys = false, accept_older = false;
};

absl::Status RunSnapshot(const Common& common, const CopyFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const auto copied,
                        Snapshot(options.gallery, options.out, options.with_keys, common.monitor));
  std::string text = absl::StrCat("copied to ", options.out, ":");
  for (const CopiedGallery& gallery : copied) {
    absl::StrAppend(&text, " ", gallery.name, " (generation ", gallery.generation, ")");
  }
  Print(common, {{"out", options.out}, {"galleries", ToJson(copied)}}, text);
  return absl::OkStatus();
}

absl::Status RunRestore(const Common& common, const CopyFlags& options) {
  if (options.from.empty() != options.gallery.starts_with("postgres:")) {
    return WrongUsage(
        "--from: give the output of `heft-server gallery snapshot`, but none for a database, which "
        "its own backups restore (pg_restore, pgBackRest)");
  }
  SetWriterWait(options.wait);
  RestoreOptions restore;
  restore.accept_older = options.accept_older;
  restore.without_receipts = options.receipts == std::vector<std::string>{"none"};
  if (!restore.without_receipts) {
    HEFT_ASSIGN_OR_RETURN(restore.receipts, ReadFiles(options.receipts));
  }
  std::optional<TrustedServer> loaded;
  if (!options.model.empty()) {
    HEFT_ASSIGN_OR_RETURN(loaded, LoadServer(common, options, /*enrols=*/false));
    restore.server = &loaded->server;
    restore.trust = loaded->trusted();
  }
  HEFT_ASSIGN_OR_RETURN(const RestoreResult done,
                        Restore(options.from, options.gallery, restore, common.monitor));
  SayNevertheless("the restore itself is complete");
  std::string text = options.from.empty()
                         ? absl::StrCat("accepted as it is: ", options.gallery)
                         : absl::StrCat("restored ", options.from, " to ", options.gallery);
  for (const CopiedGallery& gallery : done.galleries) {
    Remember(common, options.gallery + ":" + gallery.name);
    absl::StrAppend(&text, "\n", gallery.name, ": generation ", gallery.generation);
  }
  if (done.older) {
    absl::StrAppend(&text, "\nan older copy: ", done.erased, " templates erased again, ",
                    done.leaving, " wait for the key owner (heft-server gallery renew), ",
                    done.rejected, " pending templates were dropped: enrol them again");
  }
  Print(common, ToJson(done), text);
  return absl::OkStatus();
}

absl::Status RunCopy(const Common& common, const CopyFlags& options) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(const CopiedGallery copied,
                        ImportGallery(options.from, options.gallery, common.monitor));
  SayNevertheless("the copy itself is complete");
  Remember(common, options.gallery);
  Print(common,
        {{"gallery", options.gallery},
         {"gallery_id", HexString(copied.gallery_id)},
         {"generation", copied.generation}},
        absl::StrCat("copied generation ", copied.generation, " to ", options.gallery));
  return absl::OkStatus();
}

}  // namespace

void AddGallerySnapshot(Command group) {
  const auto [command, options] =
      AddCommand(group, "snapshot", "copy a folder's galleries in one state, also while they serve",
                 "heft-server gallery snapshot --gallery gallery --out backup/monday", RunSnapshot);
  command.Add("-g,--gallery", &options->gallery, "the galleries' folder").Required();
  command.Add("-o,--out", &options->out, "new folder for the copy").Required();
  command.Add("--with-keys", &options->with_keys,
              "copy also the server's secret keys and request log: the holder of the copy can "
              "answer in its name");
}

void AddGalleryRestore(Command group) {
  const auto [command, options] = AddCommand(
      group, "restore",
      "replace a folder's galleries by a snapshot, or accept the galleries of a database after its "
      "own recovery",
      "heft-server gallery restore --from backup/monday --gallery gallery\n"
      "  heft-server gallery restore --from backup/sunday --gallery gallery --accept-older "
      "--model m.heft --keys evaluation.keys\n"
      "  heft-server gallery restore --gallery postgres:people --accept-older --model m.heft "
      "--keys "
      "evaluation.keys",
      RunRestore);
  command.Add("--from", &options->from,
              "output of heft-server gallery snapshot; not for a database");
  command.Add("-g,--gallery", &options->gallery, "the galleries' folder, or postgres:SERVICE")
      .Required();
  command.Add("--accept-older", &options->accept_older,
              "accept a copy that is older than the gallery or its recorded generation; people "
              "erased since are removed again, which needs --model and --keys");
  command.Add(
      "--receipts", &options->receipts,
      "receipts of erasure that the folder lacks, signed by its server, the snapshot's, or "
      "one in the trust file. none: accept an older copy although some receipts of the "
      "replaced gallery cannot be read or, for a database, do not exist here; people erased "
      "since may be in it again");
  const Option model = command.Add("-m,--model", &options->model, "model file");
  const Option keys = command.Add("-k,--keys", &options->keys, "evaluation keys");
  model.Needs(keys);
  keys.Needs(model);
  AddKeyCache(command, options.get());
  AddTrustOptions(command, &options->trust, "the evaluation keys");
  AddWait(command, &options->wait);
}

void AddGalleryCopy(Command group) {
  const auto [command, options] =
      AddCommand(group, "copy", "copy one gallery into a new folder, or into another store",
                 "heft-server gallery copy --from store:visitors --gallery visitors\n"
                 "  heft-server gallery copy --from visitors --gallery other:guests",
                 RunCopy);
  command.Add("--from", &options->from, kGalleryHelp).Required();
  command
      .Add("-g,--gallery", &options->gallery,
           "the new gallery: FOLDER, or FOLDER:NAME beside others")
      .Required();
  AddWait(command, &options->wait);
}

}  // namespace heft::cli
