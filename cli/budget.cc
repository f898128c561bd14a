// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/key_options.h"

namespace heft::cli {
namespace {

struct Options {
  KeyOptions key;
  std::optional<uint64_t> limit;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.key.model));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  if (options.limit) HEFT_RETURN_IF_ERROR(owner.SetBudget(*options.limit));
  HEFT_ASSIGN_OR_RETURN(const BudgetUse use, owner.Budget());
  Json json = {{"key_id", HexString(owner.key_id())},
               {"model_id", HexString(model.Id())},
               {"limit", use.limit},
               {"used", use.used},
               {"reconstruction_cosine", use.reconstruction_cosine},
               {"identifications", use.identifications},
               {"identities_verified", use.identities_verified},
               {"revoked", use.successor.has_value()}};
  std::string text =
      absl::StrCat("at most ", use.limit, " scores an identity; ", use.used,
                   " of the one with the most are used (", use.identifications,
                   " identifications, verifications of ", use.identities_verified, " identities)");
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
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "budget", "show or set how many scores of an identity may be opened (key owner)",
      "heft budget --model m.heft --secret-key secret.key --set 100",
      [options](const Common& common) { return Run(common, *options); });
  AddKeyOptions(command, &options->key, "secret key");
  command.Add("--set", &options->limit,
              "allow this many scores an identity; 50 to 192 recover a template");
}

}  // namespace heft::cli
