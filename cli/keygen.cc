// SPDX-License-Identifier: Apache-2.0
#include "base/secure.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/key_set.h"
#include "cli/secret_file.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, out, secret_key;
  SealOptions seal;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  const ckks::Context& context = *instance.context;
  const KeyFolder folder(options.out);
  const bool existing = !options.secret_key.empty();
  HEFT_RETURN_IF_ERROR(folder.CheckVacant(/*but_public=*/existing));
  std::string passphrase;
  if (!existing) {
    HEFT_ASSIGN_OR_RETURN(passphrase, ChoosePassphrase(common, options.seal));
  }
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey secret,
                        existing ? LoadSecretKey(context, options.secret_key, options.seal.file)
                                 : ckks::SecretKey::Generate(context, rng));
  Json json;
  std::string text;
  const absl::Status written =
      WriteKeySet(common, instance, secret, folder, passphrase, !existing, &json, &text);
  SecureWipe(passphrase.data(), passphrase.size());
  HEFT_RETURN_IF_ERROR(written);
  Print(common, json, text);
  return absl::OkStatus();
}

}  // namespace

void AddKeygen(Command app) {
  auto options = std::make_shared<Options>();
  const Command command =
      AddCommand(app, "keygen", "make the keys for a model (key owner)",
                 "heft keygen --model m.heft --out keys --passphrase-file passphrase.txt",
                 [options](const Common& common) { return Run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  command
      .Add("-o,--out", &options->out, "folder for secret.key, encryption.key and evaluation.keys")
      .Required();
  AddSealOptions(command, "", &options->seal);
  command.Add("--secret-key", &options->secret_key,
              "use this secret key: makes new encryption and evaluation keys for it, after "
              "a model with other rotations");
}

}  // namespace heft::cli
