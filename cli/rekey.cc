// SPDX-License-Identifier: Apache-2.0
#include "fusion/rekey.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/secure.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/key_set.h"
#include "cli/secret_file.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, secret_key, passphrase_file, budget_file, out;
  SealOptions seal;
};

// Hands the counts to the new key and revokes the old one. `committed`: whether the revocation is
// on disk, which a failed flush leaves possible.
absl::Status Revoke(QueryBudget& budget, const std::string& path, const ckks::KeyId& next,
                    bool* committed) {
  const absl::Status passed = budget.PassOn(path, next);
  const auto record = budget.Read();
  *committed = !record.ok() || record->successor == next;
  return passed;
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  const ckks::Context& context = *instance.context;
  const KeyFolder folder(options.out);
  const std::string rekeying = options.out + "/rekeying.key";
  const std::string new_budget = BudgetPath(folder.secret, "");
  HEFT_RETURN_IF_ERROR(folder.CheckVacant(/*but_public=*/false));
  for (const std::string& path : {rekeying, new_budget}) {
    if (FileExists(path)) {
      return absl::AlreadyExistsError(absl::StrCat(path, " exists: choose another folder"));
    }
  }
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey old,
                        LoadSecretKey(context, options.secret_key, options.passphrase_file));
  HEFT_ASSIGN_OR_RETURN(const auto budget,
                        QueryBudget::Open(BudgetPath(options.secret_key, options.budget_file),
                                          instance.params().id(), old.key_id()));
  HEFT_RETURN_IF_ERROR(budget->CheckInUse());
  HEFT_ASSIGN_OR_RETURN(std::string passphrase, ChoosePassphrase(common, options.seal));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey next, ckks::SecretKey::Generate(context, rng));
  const std::vector<uint8_t> bytes =
      SerializeRekeyingKey(context, old.key_id(), next.key_id(),
                           ckks::MakeRekeyingKey(context, old, next, kMatchLimbs, rng));
  Json json = {{"old_key_id", HexString(old.key_id())}};
  std::string text;
  const absl::Status made = WriteKeySet(common, instance, next, folder, passphrase,
                                        /*with_secret=*/true, &json, &text);
  SecureWipe(passphrase.data(), passphrase.size());
  HEFT_RETURN_IF_ERROR(made);
  bool committed = false;
  absl::Status finished = WriteFileAtomic(rekeying, bytes);
  if (finished.ok()) {
    finished = Revoke(*budget, new_budget, next.key_id(), &committed);
  }
  if (!finished.ok() && !committed) {  // the old key is still the one in use
    folder.Remove();
    unlink(rekeying.c_str());
    unlink(new_budget.c_str());
  }
  HEFT_RETURN_IF_ERROR(finished);
  json["rekeying_key"] = rekeying;
  json["rekeying_key_bytes"] = bytes.size();
  Print(
      common, json,
      absl::StrCat(text, "re-keying key (for the server): ", rekeying, ", ",
                   HumanBytes(static_cast<double>(bytes.size())), "\nkey ", HexString(old.key_id()),
                   " is revoked: destroy it once every gallery has moved"));
  return absl::OkStatus();
}

}  // namespace

void AddRekey(Command app) {
  auto options = std::make_shared<Options>();
  const Command command =
      AddCommand(app, "rekey",
                 "make a new key in place of an old one, and the key that moves galleries to it "
                 "(key owner)",
                 "heft rekey --model m.heft --secret-key keys/secret.key --out keys-2 "
                 "--new-passphrase-file passphrase.txt",
                 [options](const Common& common) { return Run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("--secret-key", &options->secret_key, "the old secret key, revoked by this")
      .Required();
  command.Add("--passphrase-file", &options->passphrase_file,
              "first line: passphrase of the old secret key");
  command.Add("--budget-file", &options->budget_file,
              "the old key's record of queries (default: SECRET-KEY.budget)");
  command
      .Add("-o,--out", &options->out,
           "folder for the new secret.key, encryption.key, evaluation.keys, and "
           "rekeying.key")
      .Required();
  AddSealOptions(command, "new-", &options->seal);
}

}  // namespace heft::cli
