// SPDX-License-Identifier: Apache-2.0
// remove and rollback: people leave a gallery.
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "heft/removal.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  std::vector<std::string> identities;
  bool expired = false;
  std::string authorisation, receipts;
  size_t generation = 0;
};

absl::Status Tell(const Common& common, const Options& options, const RemoveResult& done) {
  SayNevertheless("what was removed is gone from the gallery all the same");
  Remember(common, options.gallery);
  Json json = {{"removed", done.removed},       {"erased", done.erased},
               {"leaving", done.leaving},       {"rejected", done.rejected},
               {"generation", done.generation}, {"persons", done.persons}};
  std::string text =
      absl::StrCat("removed ", done.removed, " templates: ", done.erased, " are erased, ",
                   done.leaving, " wait for the key owner (heft-server gallery renew); ",
                   done.rejected, " that waited are gone");
  HEFT_RETURN_IF_ERROR(GiveReceipts(common, options.receipts, options.gallery, done.receipts,
                                    done.overwritten, &json, &text));
  Print(common, json, text);
  return absl::OkStatus();
}

absl::Status RunRemove(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  if (options.expired) {
    HEFT_ASSIGN_OR_RETURN(const RemoveResult done, RemoveExpired(loaded.server, options.gallery));
    return Tell(common, options, done);
  }
  RemoveOptions remove;
  if (loaded.trust) remove.trust = &*loaded.trust;
  if (!options.authorisation.empty()) {
    HEFT_ASSIGN_OR_RETURN(remove.authorisation, ReadFile(options.authorisation));
  }
  HEFT_ASSIGN_OR_RETURN(const RemoveResult done,
                        Remove(loaded.server, options.gallery, options.identities, remove));
  return Tell(common, options, done);
}

absl::Status RunRollback(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  HEFT_ASSIGN_OR_RETURN(const RemoveResult done,
                        RollBack(loaded.server, options.gallery, options.generation));
  return Tell(common, options, done);
}

}  // namespace

void AddGalleryRemove(Command group) {
  const auto [command, options] = AddCommand(
      group, "remove", "remove people for good: they answer no more, and are erased",
      "heft-server gallery remove --model m.heft --keys evaluation.keys --gallery gallery "
      "--identity ann --receipts receipts",
      RunRemove);
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  const Option identity = command.Add("--identity", &options->identities, "whom, one or several");
  const Option expired = command.Add("--expired", &options->expired, "all who have expired");
  command.RequireOneOf(identity, expired);
  command
      .Add("--authorisation", &options->authorisation,
           "the registrar's, where the trust file lists one (heft authorise --act remove)")
      .Needs(identity);
  AddReceiptFolder(command, &options->receipts);
}

void AddGalleryRollback(Command group) {
  const auto [command, options] =
      AddCommand(group, "rollback",
                 "take back all that was enrolled after a generation, while the journal has it",
                 "heft-server gallery rollback --model m.heft --keys evaluation.keys --gallery "
                 "gallery --generation 41",
                 RunRollback);
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  command.Add("--generation", &options->generation, "the last one to be kept").Required();
  AddReceiptFolder(command, &options->receipts);
}

}  // namespace heft::cli
