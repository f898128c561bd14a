// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/secret_file.h"
#include "fusion/plan.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, secret_key, passphrase_file, budget_file;
  std::optional<uint64_t> limit;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(
      const ckks::SecretKey key,
      LoadSecretKey(*instance.context, options.secret_key, options.passphrase_file));
  HEFT_ASSIGN_OR_RETURN(const auto budget,
                        QueryBudget::Open(BudgetPath(options.secret_key, options.budget_file),
                                          instance.params().id(), key.key_id()));
  if (options.limit) HEFT_RETURN_IF_ERROR(budget->SetLimit(model.Id(), *options.limit));
  HEFT_ASSIGN_OR_RETURN(const BudgetRecord record, budget->Read());
  const auto it = record.galleries.find(model.Id());
  const BudgetRecord::GalleryUse use =
      it == record.galleries.end() ? BudgetRecord::GalleryUse() : it->second;
  const bool revoked = record.successor != ckks::KeyId{};
  Json json = {{"key_id", HexString(key.key_id())},
               {"model_id", HexString(model.Id())},
               {"limit", use.limit},
               {"used", use.Used()},
               {"reconstruction_cosine", ReconstructionCosine(use.limit, model.gamma)},
               {"identifications", use.identifications},
               {"identities_verified", use.verifications.size()},
               {"revoked", revoked}};
  if (revoked) json["successor"] = HexString(record.successor);
  Print(
      common, json,
      absl::StrCat("at most ", use.limit, " scores an identity; ", use.Used(),
                   " of the one with the most are used (", use.identifications,
                   " identifications, verifications of ", use.verifications.size(), " identities)",
                   revoked ? absl::StrCat("\nkey ", HexString(key.key_id()), " is revoked: ",
                                          HexString(record.successor), " has taken its place")
                           : ""));
  return absl::OkStatus();
}

}  // namespace

void AddBudget(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "budget", "show or set how many scores of an identity may be opened (key owner)",
      "heft budget --model m.heft --secret-key secret.key --set 100",
      [options](const Common& common) { return Run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("--secret-key", &options->secret_key, "secret key").Required();
  command.Add("--passphrase-file", &options->passphrase_file,
              "first line: passphrase of the secret key");
  command.Add("--budget-file", &options->budget_file,
              "record of queries (default: SECRET-KEY.budget)");
  command.Add("--set", &options->limit,
              "allow this many scores an identity; 50 to 192 recover a template");
}

}  // namespace heft::cli
