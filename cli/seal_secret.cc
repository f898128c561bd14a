// SPDX-License-Identifier: Apache-2.0
// import-seal and export-seal for the key owner: what needs the secret key.
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/secure.h"
#include "cli/commands.h"
#include "cli/seal_files.h"
#include "cli/secret_file.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/plan_for_keys.h"
#include "seal/owner/secret_key.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, in, secret_key, key_id_of, passphrase_file, out;
  bool passphrase = false;
  seal::Compression compression = seal::Compression::kZstd;
};

absl::Status RefuseExisting(const std::string& path) {
  if (!FileExists(path)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(path, " exists: keys are never overwritten"));
}

// SEAL's file holds the key in the clear.
absl::Status RefuseReadableByOthers(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & 077) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": others may read this secret key: chmod 600 ", path));
}

absl::Status ImportSecretKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(const ckks::KeyId key_id, KeyIdOf(options.key_id_of));
  HEFT_RETURN_IF_ERROR(RefuseExisting(options.out));
  HEFT_RETURN_IF_ERROR(RefuseReadableByOthers(options.in));
  const ckks::Context& context = *instance.context;
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(options.in, 1 << 26));
  const auto secret = seal::ReadSecretKey(context, key_id, bytes, options.in);
  SecureWipe(bytes.data(), bytes.size());
  HEFT_RETURN_IF_ERROR(secret.status());
  std::string passphrase;
  if (options.passphrase || !options.passphrase_file.empty()) {
    HEFT_ASSIGN_OR_RETURN(passphrase, ReadPassphrase(options.passphrase_file, /*confirm=*/true));
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> file,
                        SerializeSecretKey(context, *secret, passphrase));
  SecureWipe(passphrase.data(), passphrase.size());
  const absl::Status written = WriteResult(options.out, file, 0600);
  SecureWipe(file.data(), file.size());
  HEFT_RETURN_IF_ERROR(written);
  Print(common, {{"out", options.out}, {"key_id", HexString(key_id)}},
        absl::StrCat("secret key (keep it, show nobody): ", options.out, ", key ",
                     HexString(key_id)));
  return absl::OkStatus();
}

absl::Status ExportSecretKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_RETURN_IF_ERROR(RefuseExisting(options.out));
  HEFT_ASSIGN_OR_RETURN(
      const ckks::SecretKey secret,
      LoadSecretKey(*instance.context, options.secret_key, options.passphrase_file));
  HEFT_ASSIGN_OR_RETURN(const auto bytes, seal::WriteSecretKey(*instance.context, secret));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes.span(), 0600));
  Print(common, {{"out", options.out}, {"key_id", HexString(secret.key_id())}},
        absl::StrCat("SEAL secret key, in the clear (keep it, show nobody): ", options.out));
  return absl::OkStatus();
}

absl::Status ExportEvaluationKeys(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  const ckks::Context& context = *instance.context;
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey secret,
                        LoadSecretKey(context, options.secret_key, options.passphrase_file));
  Csprng rng;
  std::map<uint32_t, seal::KeyDigits> galois;
  const Progress progress(common.monitor, "making Galois keys");
  for (const auto& [element, limbs] : instance.plan.galois_keys) {
    if (!progress.Update(galois.size(), instance.plan.galois_keys.size())) {
      return absl::CancelledError("interrupted");
    }
    galois[element] = seal::MakeSeededGaloisKey(context, secret, element, rng);
  }
  std::map<std::string, std::vector<uint8_t>> files;
  files["relin_keys.seal"] = seal::WriteRelinearisationKey(
      context, seal::MakeSeededRelinearisationKey(context, secret, rng), options.compression);
  files["galois_keys.seal"] = seal::WriteGaloisKeys(context, galois, options.compression);
  HEFT_RETURN_IF_ERROR(WriteFiles(options.out, files));
  Print(
      common, {{"out", options.out}, {"galois_keys", galois.size()}},
      absl::StrCat("SEAL relinearisation key and ", galois.size(), " Galois keys: ", options.out));
  return absl::OkStatus();
}

using Run = absl::Status (*)(const Common&, const Options&);

Command Add(Command group, const std::shared_ptr<Options>& options, const std::string& name,
            const std::string& description, const std::string& example, Run run) {
  const Command command =
      AddCommand(group, name, description, example,
                 [options, run](const Common& common) { return run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  return command;
}

Command AddExport(Command app, const std::shared_ptr<Options>& options, const std::string& name,
                  const std::string& description, const std::string& example, Run run) {
  const Command command = Add(ExportSealGroup(app), options, name, description, example, run);
  command.Add("--secret-key", &options->secret_key, "secret key").Required();
  command.Add("--passphrase-file", &options->passphrase_file,
              "first line: passphrase of the secret key");
  return command;
}

}  // namespace

void AddSealSecret(Command app) {
  auto options = std::make_shared<Options>();
  const Command import =
      Add(ImportSealGroup(app), options, "secret-key", "SEAL's secret key (key owner)",
          "heft import-seal secret-key --model m.heft --in secret.seal --key-id-of "
          "evaluation.keys --out secret.key",
          ImportSecretKey);
  import.Add("-i,--in", &options->in, "SEAL's secret key").Required();
  import.Add("-o,--out", &options->out, "HEFT file to write, mode 0600").Required();
  import.Add("--passphrase", &options->passphrase,
             "seal it under a passphrase, asked for on the terminal");
  import.Add("--passphrase-file", &options->passphrase_file,
             "the same, from the first line of a file");
  AddKeyIdOption(import, &options->key_id_of);

  options = std::make_shared<Options>();
  AddExport(app, options, "secret-key", "the secret key for SEAL, in the clear (key owner)",
            "heft export-seal secret-key --model m.heft --secret-key secret.key --out secret.seal",
            ExportSecretKey)
      .Add("-o,--out", &options->out, "SEAL file to write, mode 0600")
      .Required();

  options = std::make_shared<Options>();
  const Command keys = AddExport(
      app, options, "evaluation-keys",
      "new relinearisation and Galois keys for SEAL, all that the model needs (key owner)",
      "heft export-seal evaluation-keys --model m.heft --secret-key secret.key --out seal-keys",
      ExportEvaluationKeys);
  keys.Add("-o,--out", &options->out, "folder for relin_keys.seal and galois_keys.seal").Required();
  AddCompressionOption(keys, &options->compression);
}

}  // namespace heft::cli
