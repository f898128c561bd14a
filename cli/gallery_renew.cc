// SPDX-License-Identifier: Apache-2.0
// renew and finish: both ends of the server's part in a renewal; the key owner's is heft renew.
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "heft/removal.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  std::string out, in, receipts;
  bool compact = false;
  uint64_t life = kAdmissionLife;
};

absl::Status RunRenew(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  RenewalOptions renewal;
  renewal.compact = options.compact;
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(options.gallery));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> request,
                        AskRenewal(loaded.server, options.gallery, renewal, common.monitor));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(options.gallery));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                        loaded.SignFor(signer, gallery, request, options.life));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Print(common, {{"out", options.out}, {"bytes", bytes.size()}},
        absl::StrCat("for the key owner (heft renew): ", options.out));
  return absl::OkStatus();
}

absl::Status RunFinish(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> answer, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  if (!loaded.trust) {
    return absl::InvalidArgumentError(
        "an answer is believed by its signature alone: give --trust instead of --unchecked");
  }
  HEFT_ASSIGN_OR_RETURN(const RenewResult done,
                        Renew(loaded.server, options.gallery, answer, options.in, *loaded.trust));
  SayNevertheless("the blocks are renewed all the same");
  Remember(common, options.gallery);
  Json json = {{"blocks", done.blocks}, {"freed", done.freed},     {"moved", done.moved},
               {"erased", done.erased}, {"leaving", done.leaving}, {"generation", done.generation}};
  std::string text = absl::StrCat("renewed ", done.blocks, " blocks, freed ", done.freed,
                                  "; erased ", done.erased, " templates, moved ", done.moved, ", ",
                                  done.leaving, " still wait for a renewal");
  HEFT_RETURN_IF_ERROR(GiveReceipts(common, options.receipts, options.gallery, done.receipts,
                                    done.overwritten, &json, &text));
  Print(common, json, text);
  return absl::OkStatus();
}

}  // namespace

void AddGalleryRenew(Command group) {
  const auto [command, options] = AddCommand(
      group, "renew", "ask the key owner to make blocks anew, without those who leave",
      "heft-server gallery renew --model m.heft --keys evaluation.keys --gallery gallery "
      "--out request.heft",
      RunRenew);
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  command.Add("-o,--out", &options->out, "file for the key owner (heft renew)").Required();
  command.Add("--compact", &options->compact, "sparse blocks become few, too");
  AddLife(command, &options->life);
}

void AddGalleryFinish(Command group) {
  const auto [command, options] =
      AddCommand(group, "finish", "put what the key owner has renewed in its place",
                 "heft-server gallery finish --model m.heft --keys evaluation.keys --gallery "
                 "gallery --in renewal.heft --receipts receipts",
                 RunFinish);
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  command.Add("-i,--in", &options->in, "what heft renew wrote").Required();
  AddReceiptFolder(command, &options->receipts);
}

}  // namespace heft::cli
