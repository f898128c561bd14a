// SPDX-License-Identifier: Apache-2.0
// apply: takes what the key owner has made for a gallery: an admission, renewed blocks, a key that
// moves it, or the end of the journal.
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/gallery_commands.h"
#include "heft/desk.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "heft/results.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct ApplyOptions : ServerOptions {
  std::string in, receipts;
};

// The end of the key owner's journal alone, without an admission.
absl::Status TakeHead(const Common& common, const TrustedServer& server,
                      const ApplyOptions& options, std::span<const uint8_t> head) {
  HEFT_ASSIGN_OR_RETURN(const bool newer, server.TakeHead(options.gallery, head, options.in));
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(options.gallery));
  Print(common, {{"newer", newer}, {"owner_journal_entry", info.owner_journal_entry}},
        absl::StrCat("the key owner's journal has ", info.owner_journal_entry, " entries or more",
                     newer ? "" : ", as was known"));
  return absl::OkStatus();
}

// TellLeft: what an admission that is committed has left undone, and what to do.
void TellLeft(const Common& common, const ActivateResult& done) {
  for (const Digest& entry : done.damaged) {
    Warn(common, absl::StrCat("the pending enrolment ", HexString(entry),
                              " is damaged and was not activated: reject it (heft-server gallery "
                              "remove --entry), and enrol again"));
  }
  if (!done.overwritten.ok()) {
    Warn(common, absl::StrCat("the admission is committed, but the data of rejected templates "
                              "could not be overwritten yet (run `heft-server gallery compact`): ",
                              done.overwritten.message()));
  }
  if (!done.kept.ok()) {
    Warn(common, absl::StrCat("the admission is committed, but the state that the key owner signed "
                              "could not be kept for audits (run this command again): ",
                              done.kept.message()));
  }
}

absl::Status Activate(const Common& common, const TrustedServer& loaded,
                      const ApplyOptions& options, std::span<const uint8_t> admission) {
  HEFT_ASSIGN_OR_RETURN(
      const ActivateResult done,
      Desk(loaded).Activate(options.gallery, admission, options.in, common.monitor));
  Print(common, ToJson(done),
        absl::StrCat("activated ", done.activated, " templates, rejected ", done.rejected,
                     "; the gallery holds ", done.templates, ", ", done.pending, " are pending"));
  SayNevertheless("the admission itself is complete");
  TellLeft(common, done);
  Remember(common, options.gallery);
  // All of that is durable; folding helps the next program that opens the gallery.
  std::cout.flush();
  if (const absl::Status folded = loaded.server.Fold(options.gallery); !folded.ok()) {
    Warn(common,
         absl::StrCat("activated templates are safe in the gallery's journal but not yet in "
                      "blocks, so opening it is slower: ",
                      folded.message()));
  }
  return absl::OkStatus();
}

// Moves the gallery to another key. It needs no evaluation keys: the new ones come with that key.
absl::Status Rekey(const Common& common, const ApplyOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const auto from_owner,
                        LoadKeyAndModel(options.trust, options.in, "RKEY", options.model));
  HEFT_ASSIGN_OR_RETURN(Gallery gallery, Gallery::Open(options.gallery));
  HEFT_ASSIGN_OR_RETURN(
      const Gallery::Rekeyed moved,
      gallery.Rekey(from_owner.model, from_owner.key, options.in, common.monitor));
  Remember(common, options.gallery);
  if (!moved.overwritten.ok()) Warn(common, std::string(moved.overwritten.message()));
  const std::string from = HexString(moved.from), to = HexString(moved.to);
  Print(common,
        {{"templates", gallery.size()},
         {"blocks", gallery.blocks()},
         {"key_id", to},
         {"revoked_key_id", from},
         {"overwritten", moved.overwritten.ok()}},
        absl::StrCat("moved ", gallery.size(), " templates in ", gallery.blocks(),
                     " blocks to key ", to, "; key ", from, " is revoked"));
  return absl::OkStatus();
}

absl::Status RunApply(const Common& common, const ApplyOptions& options) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> answer, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(const FileInfo file, InspectFile(answer, options.in));
  if (!options.receipts.empty() && file.kind != "RNAN") {
    return absl::InvalidArgumentError(absl::StrCat(
        options.in, ": ", file.name,
        ": leave out --receipts, since only renewed blocks come with receipts of erasure"));
  }
  if (file.kind == "RKEY") return Rekey(common, options);
  if (file.kind != "ADMS" && file.kind != "RNAN" && file.kind != "HEAD") {
    return OtherKind(options.in, file.name,
                     "an answer of heft answer, rekeying.key or journal.head");
  }
  if (options.keys.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.in, ": ", file.name, ": give --keys, the evaluation keys"));
  }
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded,
                        LoadServer(common, options, /*enrols=*/file.kind == "ADMS"));
  HEFT_RETURN_IF_ERROR(CheckBelieves(loaded, "an answer"));
  if (file.kind == "HEAD") return TakeHead(common, loaded, options, answer);
  if (file.kind != "RNAN") return Activate(common, loaded, options, answer);
  return InstallRenewal(common, loaded, options, options.receipts, answer, options.in);
}

}  // namespace

void AddApply(Command app) {
  const auto [command, options] =
      AddCommand(app, "apply",
                 "apply what the key owner has made for a gallery: an admission, renewed blocks, "
                 "or a key that "
                 "moves it (server)",
                 "heft-server apply --model m.heft --keys evaluation.keys --gallery gallery "
                 "--in admission.heft\n"
                 "  heft-server apply --model m.heft --keys evaluation.keys --gallery gallery --in "
                 "renewal.heft --receipts receipts\n"
                 "  heft-server apply --model m.heft --gallery gallery --in rekeying.key",
                 RunApply);
  command
      .Add("-i,--in", &options->in,
           "admission or renewal, from heft answer: the templates join the gallery, or its blocks "
           "are replaced; rekeying.key, from heft rekey: the gallery moves to the new key without "
           "being decrypted; or journal.head of the key owner")
      .Required();
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--keys", &options->keys, "evaluation keys; not needed with a re-keying key");
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  AddKeyCache(command, options.get());
  AddTrustOptions(command, &options->trust, "the evaluation or the re-keying key");
  AddEnrolmentKeys(command, options.get());
  AddReceiptFolder(command, &options->receipts);
  AddWait(command, &options->wait);
}

}  // namespace heft::cli
