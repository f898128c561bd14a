// SPDX-License-Identifier: Apache-2.0
// pending: what waits for the key owner. cli/apply.cc takes the answer.
#include <map>
#include <set>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
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
  HEFT_ASSIGN_OR_RETURN(const auto pending, PendingEnrolments(options.gallery));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(options.gallery));
  const std::vector<std::string> damaged = DamagedRecords(gallery);
  for (const std::string& what : damaged) Warn(common, what);
  Print(common, {{"out", options.out}, {"pending", ToJson(pending)}, {"damaged", damaged}},
        absl::StrCat(TellPending(loaded, pending), "for the key owner: ", options.out));
  return absl::OkStatus();
}

}  // namespace

void AddPending(Command app) {
  const auto [command, options] = AddCommand(
      app, "pending", "write the pending templates for the key owner to approve (server)",
      "heft-server pending --model m.heft --keys evaluation.keys --gallery gallery "
      "--out pending.ct",
      RunPending);
  AddGalleryOptions(command, options.get());
  command.Add("-o,--out", &options->out, "file for the key owner").Required();
  AddLife(command, &options->life);
}

}  // namespace heft::cli
