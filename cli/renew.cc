// SPDX-License-Identifier: Apache-2.0
// renew, for the key owner: makes blocks of a gallery without the removed templates.
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "program/common.h"
#include "program/owner/key_owner_answer.h"

namespace heft::cli {
namespace {

absl::Status RunRenew(const Common& common, const AnswerOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const Asked asked, LoadAsked(options));
  HEFT_ASSIGN_OR_RETURN(const RenewedBlocks done, asked.owner.Renew(asked.request, options.in));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, done.signed_renewal));
  Print(common, {{"out", options.out}, {"blocks", done.blocks}, {"templates", done.templates}},
        absl::StrCat("encrypted ", done.templates, " templates again, in ", done.blocks,
                     " blocks; for the server: ", options.out));
  return absl::OkStatus();
}

}  // namespace

void AddRenew(Command app) {
  const auto [command, options] = AddCommand(
      app, "renew", "renew blocks of a gallery without the removed people (key owner)",
      "heft renew --model m.heft --secret-key keys/secret.key --in request.heft --out renewal.heft",
      RunRenew);
  AddAnswerOptions(command, options.get(), "the server's request with padded templates",
                   "signed renewal, for the server");
}

}  // namespace heft::cli
