// SPDX-License-Identifier: Apache-2.0
#include "cli/key_set.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/secure.h"
#include "fusion/key_files.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"

namespace heft::cli {
namespace {

absl::Status WriteSecretKey(const ckks::Context& context, const ckks::SecretKey& secret,
                            const std::string& passphrase, const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                        SerializeSecretKey(context, secret, passphrase));
  const absl::Status written = WriteFileAtomic(path, bytes, 0600);
  SecureWipe(bytes.data(), bytes.size());
  return written;
}

}  // namespace

KeyFolder::KeyFolder(const std::string& directory)
    : folder(directory),
      secret(directory + "/secret.key"),
      encryption(directory + "/encryption.key"),
      evaluation(directory + "/evaluation.keys") {}

absl::Status KeyFolder::CheckVacant(bool but_public) const {
  for (const std::string& path : {secret, encryption, evaluation}) {
    if (FileExists(path) && !(but_public && path != secret)) {
      return absl::AlreadyExistsError(absl::StrCat(
          path,
          " exists: keys are never overwritten, choose another folder"
          " (or give --secret-key to make new evaluation keys for an existing secret)"));
    }
  }
  return absl::OkStatus();
}

void KeyFolder::Remove() const {
  for (const std::string& path : {secret, encryption, evaluation}) unlink(path.c_str());
}

void AddSealOptions(Command command, const std::string& prefix, SealOptions* options) {
  const Option ask = command.Add("--" + prefix + "passphrase", &options->ask,
                                 "seal the new secret key under a passphrase, asked for on the "
                                 "terminal");
  const Option file = command.Add("--" + prefix + "passphrase-file", &options->file,
                                  "the same, from the first line of a file");
  command
      .Add("--no-" + prefix + "passphrase", &options->unsealed,
           "leave the new secret key in the clear, without a warning")
      .Excludes(ask)
      .Excludes(file);
}

absl::StatusOr<std::string> ChoosePassphrase(const Common& common, const SealOptions& options) {
  if (options.ask || !options.file.empty()) return ReadPassphrase(options.file, /*confirm=*/true);
  if (!options.unsealed && !common.quiet) {
    std::cerr << "heft: warning: the secret key is not sealed: whoever reads the file has it; use "
                 "--passphrase-file, or --no-passphrase if you mean it\n";
  }
  return std::string();
}

absl::Status WriteKeySet(const Common& common, const Instance& instance,
                         const ckks::SecretKey& secret, const KeyFolder& folder,
                         const std::string& passphrase, bool with_secret, Json* json,
                         std::string* text) {
  const ckks::Context& context = *instance.context;
  const Progress progress(common.monitor, "making evaluation keys");
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> evaluation,
                        MakeEvaluationKeys(instance, secret, progress.Callback()));
  Csprng rng;
  const std::vector<uint8_t> encryption =
      SerializeEncryptionKey(context, ckks::MakePublicKey(context, secret, rng));
  if (Interrupted()) return absl::CancelledError("interrupted");
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder.folder));
  absl::Status written = WriteFileAtomic(folder.encryption, encryption);
  if (written.ok()) written = WriteFileAtomic(folder.evaluation, evaluation);
  if (written.ok() && with_secret) {
    written = WriteSecretKey(context, secret, passphrase, folder.secret);
  }
  if (!written.ok()) {
    if (with_secret) folder.Remove();
    return written;
  }
  const std::string security = context.params().security().Describe();
  json->update({{"key_id", HexString(secret.key_id())},
                {"parameters", context.params().Describe()},
                {"security", security},
                {"encryption_key", folder.encryption},
                {"encryption_key_bytes", encryption.size()},
                {"evaluation_keys", folder.evaluation},
                {"evaluation_keys_bytes", evaluation.size()}});
  if (with_secret) (*json)["secret_key"] = folder.secret;
  absl::StrAppend(
      text, "key ", HexString(secret.key_id()), "\n", context.params().Describe(), "; ", security,
      "\n",
      with_secret ? absl::StrCat("secret key (keep it, show nobody): ", folder.secret, "\n") : "",
      "encryption key (for clients): ", folder.encryption, ", ", HumanBytes(encryption.size()),
      "\nevaluation keys (for the server): ", folder.evaluation, ", ",
      HumanBytes(evaluation.size()), "\n");
  return absl::OkStatus();
}

}  // namespace heft::cli
