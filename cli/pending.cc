// SPDX-License-Identifier: Apache-2.0
// pending and release: both ends of the server's part in an admission.
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/gallery_commands.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "heft/results.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct PendingOptions : ServerOptions {
  std::string out;
  uint64_t life = kAdmissionLife;
};

// SenderOf: a client's name in the trust file, or its key.
std::string SenderOf(const TrustedServer& server, const SignerKey& client) {
  if (client == SignerKey{}) return "not signed";
  if (server.trust) {
    for (const Role role : {Role::kClient, Role::kRegistrar, Role::kKeyOwner}) {
      for (const Trust::Key& listed : server.trust->keys(role)) {
        if (listed.key == client && !listed.name.empty()) return "sent by " + listed.name;
      }
    }
  }
  return absl::StrCat("sent by ", HexString(client));
}

// TellPending: how many wait, and each identity that several enrolments have, with their entries.
std::string TellPending(const TrustedServer& server, std::span<const PendingEnrolment> pending) {
  std::map<std::string, std::set<const PendingEnrolment*>> by_name;
  for (const PendingEnrolment& one : pending) {
    for (const std::string& identity : one.identities) by_name[identity].insert(&one);
  }
  std::string text = absl::StrCat(pending.size(), " enrolments are pending\n");
  for (const auto& [identity, enrolments] : by_name) {
    if (enrolments.size() == 1) continue;
    absl::StrAppend(&text, "\"", identity, "\" is in ", enrolments.size(), " of them:\n");
    for (const PendingEnrolment* const one : enrolments) {
      absl::StrAppend(&text, "  entry ", HexString(one->entry), ", ", SenderOf(server, one->client),
                      "\n");
    }
  }
  return text;
}

absl::Status RunPending(const Common& common, const PendingOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  TakeHeadBeside(common, loaded, options);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                        Desk(loaded).Pending(options.gallery, kAllPending, {.life = options.life}));
  HEFT_ASSIGN_OR_RETURN(const auto pending, WaitingEnrolments(options.gallery));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(options.gallery));
  const std::vector<std::string> damaged = DamagedRecords(gallery);
  for (const std::string& what : damaged) Warn(common, what);
  Print(common, {{"out", options.out}, {"pending", PendingJson(pending)}, {"damaged", damaged}},
        absl::StrCat(TellPending(loaded, pending), "for the key owner: ", options.out));
  return absl::OkStatus();
}

struct ReleaseOptions : ServerOptions {
  std::string in;
};

// The end of the key owner's journal alone, without an admission.
absl::Status TakeHead(const Common& common, const TrustedServer& server,
                      const ReleaseOptions& options, std::span<const uint8_t> head) {
  HEFT_ASSIGN_OR_RETURN(const bool newer, server.TakeHead(options.gallery, head, options.in));
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(options.gallery));
  Print(common, {{"newer", newer}, {"owner_journal_entry", info.owner_journal_entry}},
        absl::StrCat("the key owner's journal has ", info.owner_journal_entry, " entries or more",
                     newer ? "" : ", as was known"));
  return absl::OkStatus();
}

// TellLeft: what an admission that is committed has left undone, and what to do.
void TellLeft(const Common& common, const AdmitResult& done) {
  for (const Digest& entry : done.damaged) {
    Warn(common, absl::StrCat("the pending enrolment ", HexString(entry),
                              " is damaged and was not admitted: reject it (heft-server gallery "
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

absl::Status RunRelease(const Common& common, const ReleaseOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> admission, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/true));
  HEFT_RETURN_IF_ERROR(CheckBelieves(loaded, "an admission"));
  HEFT_ASSIGN_OR_RETURN(const FileInfo file, InspectFile(admission, options.in));
  if (file.kind == "HEAD") return TakeHead(common, loaded, options, admission);
  HEFT_ASSIGN_OR_RETURN(const AdmitResult done, Desk(loaded).Activate(options.gallery, admission,
                                                                      options.in, common.monitor));
  Print(common, AdmitJson(done),
        absl::StrCat("admitted ", done.admitted, " templates, rejected ", done.rejected,
                     "; the gallery holds ", done.templates, ", ", done.waiting, " wait"));
  SayNevertheless("the admission itself is complete");
  TellLeft(common, done);
  Remember(common, options.gallery);
  // All of that is durable; folding helps the next program that opens the gallery.
  std::cout.flush();
  if (const absl::Status folded = loaded.server.Fold(options.gallery); !folded.ok()) {
    Warn(common, absl::StrCat("admitted templates are safe in the gallery's journal but not yet in "
                              "blocks, so opening it is slower: ",
                              folded.message()));
  }
  return absl::OkStatus();
}

}  // namespace

void AddPending(Command app) {
  const auto [command, options] =
      AddCommand(app, "pending", "write the pending templates for the key owner to admit (server)",
                 "heft-server pending --model m.heft --keys evaluation.keys --gallery gallery "
                 "--out pending.ct",
                 RunPending);
  AddGalleryOptions(command, options.get());
  command.Add("-o,--out", &options->out, "file for the key owner").Required();
  AddLife(command, &options->life);
}

void AddRelease(Command app) {
  const auto [command, options] = AddCommand(
      app, "release", "add the templates that the key owner has admitted to the gallery (server)",
      "heft-server release --model m.heft --keys evaluation.keys --gallery gallery "
      "--in admission.heft",
      RunRelease);
  AddGalleryOptions(command, options.get());
  AddEnrolmentKeys(command, options.get());
  AddWait(command, &options->wait);
  command.Add("-i,--in", &options->in, "output of heft admit, or journal.head of the key owner")
      .Required();
}

}  // namespace heft::cli
