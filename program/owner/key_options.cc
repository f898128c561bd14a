// SPDX-License-Identifier: Apache-2.0
#include "program/owner/key_options.h"

#include "absl/strings/str_cat.h"
#include "heft/inspect.h"

namespace heft::cli {

void AddKeyOptions(Command command, KeyOptions* options, const std::string& secret_key_help) {
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("--secret-key", &options->secret_key, secret_key_help).Required();
  command.Add("--passphrase-file", &options->passphrase_file,
              "first line: passphrase of the secret key");
}

absl::StatusOr<KeyOwner> LoadKeyOwner(const Model& model, const KeyOptions& options) {
  return KeyOwner::Load(model, options.secret_key,
                        [&] { return ReadPassphrase(options.passphrase_file, /*confirm=*/false); });
}

absl::StatusOr<KeyOwner> LoadKeyOwner(const KeyOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  return LoadKeyOwner(model, options);
}

void AddSealOptions(Command command, const std::string& prefix, SealOptions* options,
                    std::vector<std::string>* files) {
  const Option ask = command.Add(
      "--passphrase", &options->ask,
      "encrypt the new secret key under a passphrase, which is asked for on the terminal");
  const std::string name = "--" + prefix + "passphrase-file";
  const Option file =
      files == nullptr
          ? command.Add(name, &options->file, "the passphrase is the first line of this file")
          : command.Add(name, files,
                        "the passphrase is the first line of this file; with --owners a file for "
                        "each owner");
  command
      .Add("--no-passphrase", &options->unsealed,
           "do not encrypt the new secret key, and do not warn")
      .Excludes(ask)
      .Excludes(file);
}

PassphraseSource NewPassphrase(const SealOptions& options) {
  if (!options.ask && options.file.empty()) return {};
  return [options] { return ReadPassphrase(options.file, /*confirm=*/true); };
}

void WarnOfUnsealed(const Common& common, const SealOptions& options) {
  if (NewPassphrase(options) || options.unsealed) return;
  Warn(common,
       "the secret key is not encrypted: any reader of the file has the key. Use "
       "--passphrase-file, or --no-passphrase to accept this");
}

std::string KeySetText(const KeySet& set) {
  std::string secret, enrolment;
  if (!set.enrolment_keys.empty()) {
    enrolment =
        absl::StrCat("enrolment keys (for the server, to enrol and verify): ", set.enrolment_keys,
                     ", ", HumanBytes(set.enrolment_keys_bytes), "\n");
  }
  if (!set.secret_key.empty()) {
    secret = absl::StrCat("secret key (keep it secret): ", set.secret_key, "\n");
  }
  return absl::StrCat("key ", HexString(set.key_id), "\n", set.parameters, "; ", set.security, "\n",
                      secret, "encryption key (for clients): ", set.encryption_key, ", ",
                      HumanBytes(set.encryption_key_bytes),
                      "\nevaluation keys (for the server): ", set.evaluation_keys, ", ",
                      HumanBytes(set.evaluation_keys_bytes), "\n", enrolment,
                      "trust file (for both, over a trusted channel): ", set.trust, "\n");
}

}  // namespace heft::cli
