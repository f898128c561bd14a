// SPDX-License-Identifier: Apache-2.0
// audit-log verify: whether the daemons' audit trail holds together.
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/audit.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string head, after;
};

absl::Status Run(const Common& common, const Options& options) {
  AuditHead noted, after;
  if (!options.head.empty()) {
    HEFT_ASSIGN_OR_RETURN(noted, ParseAuditHead(options.head, "--head"));
  }
  if (!options.after.empty()) {
    HEFT_ASSIGN_OR_RETURN(after, ParseAuditHead(options.after, "--after"));
  }
  const auto head = VerifyAuditLogs(options.files, options.head.empty() ? nullptr : &noted,
                                    options.after.empty() ? nullptr : &after);
  if (absl::IsDataLoss(head.status())) return absl::AbortedError(head.status().message());
  HEFT_RETURN_IF_ERROR(head.status());
  Print(common, {{"lines", head->lines}, {"hash", head->hash}, {"noted", !options.head.empty()}},
        absl::StrCat(head->lines, " lines form a chain",
                     options.head.empty() ? "" : ", which contains the noted head",
                     "\nhead: ", head->lines, ":", head->hash,
                     "\nnote the head elsewhere: with --head it shows whether the end was cut off "
                     "or the log was rewritten"));
  return absl::OkStatus();
}

}  // namespace

void AddAuditLog(Command app) {
  const auto [command, options] =
      AddCommand(app.Group("audit-log", "the audit log of heft-matcher and heft-decider"), "verify",
                 "check that no line was changed, left out or moved (auditor)",
                 "heft audit-log verify /var/lib/heft-matcher/audit.log --head 812:5f...", Run);
  command.Add("file", &options->files, "the audit log, after its renamed older files, oldest first")
      .Required();
  command.Add("--head", &options->head, "LINES:HASH noted earlier, which must be in the chain");
  command.Add("--after", &options->after,
              "LINES:HASH of the line before the first one, if older files are not given");
}

}  // namespace heft::cli
