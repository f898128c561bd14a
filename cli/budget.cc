// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "cli/commands.h"
#include "heft/openings.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct BudgetFlags {
  KeyOptions key;
  std::optional<uint64_t> scores, decisions, rejections, client_bits;
  std::string restart;  // the reason
};

// Restarts the journal and sets limits, if the options say so.
absl::Status Change(const BudgetFlags& options, KeyOwner* owner) {
  if (!options.restart.empty()) HEFT_RETURN_IF_ERROR(owner->RestartJournal(options.restart));
  if (!options.scores && !options.decisions && !options.rejections && !options.client_bits) {
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(const BudgetUse use, owner->Budget());
  BudgetLimits limits = use.limits;
  limits.scores = options.scores.value_or(limits.scores);
  limits.decisions = options.decisions.value_or(limits.decisions);
  limits.rejections = options.rejections.value_or(limits.rejections);
  limits.client_bits = options.client_bits.value_or(limits.client_bits);
  return owner->SetBudget(limits);
}

absl::Status RunBudget(const Common& common, const BudgetFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.key.model));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  HEFT_RETURN_IF_ERROR(Change(options, &owner));
  HEFT_ASSIGN_OR_RETURN(const BudgetUse use, owner.Budget());
  Print(common, DescribeBudget(owner, use));
  return absl::OkStatus();
}

}  // namespace

void AddBudget(Command app) {
  const auto [command, options] =
      AddCommand(app, "budget",
                 "show or set the query budget: what was opened and what may still be (key owner)",
                 "heft budget --model m.heft --secret-key secret.key --set scores=16", RunBudget);
  AddKeyOptions(command, &options->key, "secret key");
  command.AddNumbers(
      "--set",
      {{"scores", &options->scores},
       {"decisions", &options->decisions},
       {"rejections", &options->rejections},
       {"client-bits", &options->client_bits}},
      "limits: scores=N of an identity, ever (default: what training measured, 0 without a "
      "measurement; SECURITY.md says what they reveal); decisions=N a day that accept an identity, "
      "half of them for one client; rejections=N: rejected claims of an identity by one client, of "
      "which each accepted one gives one back, each day a sixteenth; client-bits=N of one client a "
      "day, all unlisted clients together a tenth: a score counts 10, a decision 1");
  command.Add("--restart", &options->restart,
              "start a new journal of the key, if it is lost or damaged or the key has moved; "
              "readable entries stay counted. The text, the reason, is kept in the journal");
}

}  // namespace heft::cli
