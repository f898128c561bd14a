// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/keygen.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/secure.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/secret_file.h"
#include "fusion/key_files.h"
#include "fusion/owner/secret_key_file.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, out, passphrase_file, secret_key;
  bool passphrase = false;
};

absl::Status WriteSecretKey(const ckks::Context& context, const ckks::SecretKey& secret,
                            const std::string& passphrase, const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                        SerializeSecretKey(context, secret, passphrase));
  const absl::Status written = WriteFileAtomic(path, bytes, 0600);
  SecureWipe(bytes.data(), bytes.size());
  return written;
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  const ckks::Context& context = *instance.context;
  const std::string secret_path = options.out + "/secret.key";
  const std::string encryption_path = options.out + "/encryption.key";
  const std::string evaluation_path = options.out + "/evaluation.keys";
  const bool existing = !options.secret_key.empty();
  for (const std::string& path : {secret_path, encryption_path, evaluation_path}) {
    if (FileExists(path) && !(existing && path != secret_path)) {
      return absl::AlreadyExistsError(absl::StrCat(
          path,
          " exists: keys are never overwritten, choose another folder"
          " (or give --secret-key to make new evaluation keys for an existing secret)"));
    }
  }
  std::string passphrase;
  if (!existing && (options.passphrase || !options.passphrase_file.empty())) {
    HEFT_ASSIGN_OR_RETURN(passphrase, ReadPassphrase(options.passphrase_file, /*confirm=*/true));
  }
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey secret,
                        existing
                            ? LoadSecretKey(context, options.secret_key, options.passphrase_file)
                            : ckks::SecretKey::Generate(context, rng));
  Progress progress(common, "making evaluation keys");
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> evaluation,
                        MakeEvaluationKeys(instance, secret, progress.Callback()));
  const std::vector<uint8_t> encryption =
      SerializeEncryptionKey(context, ckks::MakePublicKey(context, secret, rng));
  if (Interrupted()) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(MakeDirectories(options.out));
  // The secret key last: without it the other two are of no use, with it they must be there.
  absl::Status written = WriteFileAtomic(encryption_path, encryption);
  if (written.ok()) written = WriteFileAtomic(evaluation_path, evaluation);
  if (written.ok() && !existing) written = WriteSecretKey(context, secret, passphrase, secret_path);
  SecureWipe(passphrase.data(), passphrase.size());
  if (!written.ok() && !existing) {  // a second attempt must not find half a set
    unlink(encryption_path.c_str());
    unlink(evaluation_path.c_str());
  }
  HEFT_RETURN_IF_ERROR(written);
  const std::string security = context.params().security().Describe();
  Json json = {{"key_id", HexString(secret.key_id())},
               {"parameters", context.params().Describe()},
               {"security", security},
               {"encryption_key", encryption_path},
               {"encryption_key_bytes", encryption.size()},
               {"evaluation_keys", evaluation_path},
               {"evaluation_keys_bytes", evaluation.size()}};
  if (!existing) json["secret_key"] = secret_path;
  Print(common, json,
        absl::StrCat(
            "key ", HexString(secret.key_id()), "\n", context.params().Describe(), "; ", security,
            "\n",
            existing ? "" : absl::StrCat("secret key (keep it, show nobody): ", secret_path, "\n"),
            "encryption key (for clients): ", encryption_path, ", ", HumanBytes(encryption.size()),
            "\nevaluation keys (for the server): ", evaluation_path, ", ",
            HumanBytes(evaluation.size())));
  return absl::OkStatus();
}

}  // namespace

void AddKeygen(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      AddCommand(app, "keygen", "make the keys for a model (key owner)",
                 "heft keygen --model m.heft --out keys --passphrase-file passphrase.txt",
                 [options](const Common& common) { return Run(common, *options); });
  command->add_option("-m,--model", options->model, "model file")->required();
  command
      ->add_option("-o,--out", options->out,
                   "folder for secret.key, encryption.key and evaluation.keys")
      ->required();
  command->add_flag("--passphrase", options->passphrase,
                    "seal the secret key under a passphrase, asked for on the terminal");
  command->add_option("--passphrase-file", options->passphrase_file,
                      "the same, from the first line of a file");
  command->add_option("--secret-key", options->secret_key,
                      "use this secret key: makes new encryption and evaluation keys for it, after "
                      "a model with other rotations");
}

}  // namespace heft::cli
