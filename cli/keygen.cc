// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, out, secret_key;
  SealOptions seal;
};

// New public keys for the secret key that is given.
absl::StatusOr<KeySet> MakeForExisting(const Common& common, const Options& options,
                                       const Model& model) {
  KeyOptions existing;
  existing.secret_key = options.secret_key;
  existing.passphrase_file = options.seal.file;
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(model, existing));
  return MakePublicKeys(owner, options.out, common.monitor);
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(
      const KeySet set,
      options.secret_key.empty()
          ? MakeKeySet(model, options.out, NewPassphrase(options.seal), common.monitor)
          : MakeForExisting(common, options, model));
  if (options.secret_key.empty()) WarnOfUnsealed(common, options.seal);
  Print(common, KeySetJson(set), KeySetText(set));
  return absl::OkStatus();
}

}  // namespace

void AddKeygen(Command app) {
  const auto [command, options] =
      AddCommand(app, "keygen", "make the keys for a model (key owner)",
                 "heft keygen --model m.heft --out keys --passphrase-file passphrase.txt", Run);
  command.Add("-m,--model", &options->model, "model file").Required();
  command
      .Add("-o,--out", &options->out,
           "folder for secret.key, encryption.key, evaluation.keys and (profiles thin and flooded) "
           "enrolment.keys")
      .Required();
  AddSealOptions(command, "", &options->seal);
  command.Add("--secret-key", &options->secret_key,
              "make new encryption and evaluation keys for this secret key, for a model with other "
              "rotations");
}

}  // namespace heft::cli
