// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct Options {
  KeyOptions key;
  std::optional<uint64_t> scores, decisions, client_bits;
  bool restart = false;
  std::string reason;
};

std::string NameOf(const ClientId& client) {
  return client == ClientId{} ? "unnamed" : HexString(client);
}

// Restarts the journal and sets limits, as far as asked.
absl::Status Change(const Options& options, KeyOwner* owner) {
  if (options.restart) HEFT_RETURN_IF_ERROR(owner->RestartJournal(options.reason));
  if (!options.scores && !options.decisions && !options.client_bits) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const BudgetUse use, owner->Budget());
  BudgetLimits limits = use.limits;
  limits.scores = options.scores.value_or(limits.scores);
  limits.decisions = options.decisions.value_or(limits.decisions);
  limits.client_bits = options.client_bits.value_or(limits.client_bits);
  return owner->SetBudget(limits);
}

Json ClientsOf(const BudgetUse& use, std::string* text) {
  Json clients = Json::array();
  for (const BudgetUse::Client& client : use.clients) {
    clients.push_back({{"client", NameOf(client.client)},
                       {"openings", client.openings},
                       {"slots", client.slots},
                       {"bits_left", client.bits},
                       {"full_at", UtcText(client.full_at)}});
    absl::StrAppend(text, "\nclient ", NameOf(client.client), ": ", client.openings, " openings, ",
                    client.slots, " slots published; may be told ", client.bits,
                    " bits now, all of ", use.limits.client_bits, " from ",
                    UtcText(client.full_at));
  }
  return clients;
}

Json RestartsOf(const BudgetUse& use, std::string* text) {
  Json restarts = Json::array();
  for (const BudgetUse::Restart& restart : use.restarts) {
    restarts.push_back({{"time", UtcText(restart.time)}, {"reason", restart.reason}});
    absl::StrAppend(text, "\nrestarted ", UtcText(restart.time), ": ", restart.reason);
  }
  if (use.restart_count > use.restarts.size()) {
    absl::StrAppend(text, "\nrestarted ", use.restart_count,
                    " times in all: those before are lost with their journals");
  }
  return restarts;
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.key.model));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  HEFT_RETURN_IF_ERROR(Change(options, &owner));
  HEFT_ASSIGN_OR_RETURN(const BudgetUse use, owner.Budget());
  std::string text = absl::StrFormat(
      "scores: %d of an identity, for good, one client half of them; the one with the most has "
      "given %d. All of them tell a template to a cosine of %.2f\n"
      "decisions: %d on an identity a day, one client half of them; %d on the one with the most\n"
      "opened: %d identifications, %d verifications, %d of anything under this key; something is "
      "known of %d identities",
      use.limits.scores, use.scores, use.reconstruction_cosine, use.limits.decisions, use.decisions,
      use.identifications, use.verifications, use.openings, use.identities);
  Json json = {{"key_id", HexString(owner.key_id())},
               {"model_id", HexString(model.Id())},
               {"journal", owner.journal_file()},
               {"limits",
                {{"scores", use.limits.scores},
                 {"decisions", use.limits.decisions},
                 {"client_bits", use.limits.client_bits}}},
               {"scores", use.scores},
               {"decisions", use.decisions},
               {"inherited_scores", use.inherited},
               {"reconstruction_cosine", use.reconstruction_cosine},
               {"identifications", use.identifications},
               {"verifications", use.verifications},
               {"openings_under_key", use.openings},
               {"identities", use.identities},
               {"entries", use.entries},
               {"last_entry", UtcText(use.last_entry)},
               {"restart_count", use.restart_count},
               {"revoked", use.successor.has_value()}};
  json["clients"] = ClientsOf(use, &text);
  json["restarts"] = RestartsOf(use, &text);
  if (use.successor) {
    json["successor"] = HexString(*use.successor);
    absl::StrAppend(&text, "\nkey ", HexString(owner.key_id()),
                    " is revoked: ", HexString(*use.successor), " has taken its place");
  }
  Print(common, json, text);
  return absl::OkStatus();
}

}  // namespace

void AddBudget(Command app) {
  const auto [command, options] =
      AddCommand(app, "budget", "show what was opened and what may still be, or set it (key owner)",
                 "heft budget --model m.heft --secret-key secret.key --set 16", Run);
  AddKeyOptions(command, &options->key, "secret key");
  command.Add("--set", &options->scores,
              "allow this many scores of an identity, ever; SECURITY.md says what they tell");
  command.Add("--set-decisions", &options->decisions,
              "allow this many decisions on an identity a day");
  command.Add("--set-client-bits", &options->client_bits,
              "tell one client this much a day: a score counts 10, a decision 1");
  const Option restart =
      command.Add("--restart", &options->restart,
                  "begin the key's journal anew: it is lost or damaged, or the key has moved; what "
                  "can still be read stays counted");
  const Option reason =
      command.Add("--reason", &options->reason, "why, for --restart; the journal keeps it")
          .Needs(restart);
  restart.Needs(reason);
}

}  // namespace heft::cli
