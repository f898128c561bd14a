// SPDX-License-Identifier: Apache-2.0
// heft-seal import and export, for objects that need the secret key.
#include "absl/strings/str_cat.h"
#include "cli/seal_commands.h"
#include "heft/seal_key_owner.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct Options {
  KeyOptions key;
  std::string in, enrolment_in, key_id_of, out;
  SealOptions seal;
  SealRing ring = SealRing::kMatching;
};

absl::Status ImportSecretKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.key.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(options.key_id_of));
  HEFT_RETURN_IF_ERROR(ImportSealSecretKey(model, key_id, options.in, options.out,
                                           NewPassphrase(options.seal), common.monitor,
                                           options.enrolment_in));
  Print(common, {{"out", options.out}, {"key_id", HexString(key_id)}},
        absl::StrCat("secret key (keep it secret): ", options.out, ", key ", HexString(key_id)));
  return absl::OkStatus();
}

absl::Status ExportSecretKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(options.key));
  HEFT_RETURN_IF_ERROR(ExportSealSecretKey(owner, options.out, common.monitor, options.ring));
  Print(common, {{"out", options.out}, {"key_id", HexString(owner.key_id())}},
        absl::StrCat("SEAL secret key, not encrypted (keep it secret): ", options.out));
  return absl::OkStatus();
}

absl::Status ExportEvaluationKeys(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(options.key));
  HEFT_ASSIGN_OR_RETURN(SealEvaluationKeys keys,
                        ExportSealEvaluationKeys(owner, SealCompression::kZstd, common.monitor));
  HEFT_RETURN_IF_ERROR(
      WriteNewFiles(options.out, {{"relin_keys.seal", std::move(keys.relinearisation)},
                                  {"galois_keys.seal", std::move(keys.galois)}}));
  Print(common, {{"out", options.out}, {"galois_keys", keys.galois_keys}},
        absl::StrCat("SEAL relinearisation key and ", keys.galois_keys,
                     " Galois keys: ", options.out));
  return absl::OkStatus();
}

auto AddExport(Command app, const std::string& name, const std::string& description,
               const std::string& example,
               absl::Status (*run)(const Common& common, const Options& options)) {
  const auto added =
      AddCommand(ExportGroup(app), name, description, "heft-seal export " + example, run);
  AddKeyOptions(added.first, &added.second->key, "secret key");
  return added;
}

}  // namespace

void AddSecrets(Command app) {
  const auto [import, options] =
      AddCommand(ImportGroup(app), "secret-key", "SEAL's secret key (key owner)",
                 "heft-seal import secret-key --model m.heft --in matching.seal --enrolment-in "
                 "enrolment.seal --key-id-of "
                 "evaluation.keys --out secret.key",
                 ImportSecretKey);
  import.Add("-m,--model", &options->key.model, "model file").Required();
  import.Add("-i,--in", &options->in, "SEAL's secret key of the matching ring").Required();
  import.Add("--enrolment-in", &options->enrolment_in, "SEAL's secret key of the enrolment ring")
      .Required();
  import.Add("-o,--out", &options->out, "HEFT file to write, mode 0600").Required();
  import.Add("--passphrase", &options->seal.ask,
             "encrypt it under a passphrase, which is asked for on the terminal");
  import.Add("--passphrase-file", &options->seal.file,
             "the passphrase is the first line of this file");
  AddKeyIdOption(import, &options->key_id_of);

  const auto [secret, of_secret] = AddExport(
      app, "secret-key", "the secret key for SEAL, not encrypted (key owner)",
      "secret-key --model m.heft --secret-key secret.key --out secret.seal", ExportSecretKey);
  secret.Add("-o,--out", &of_secret->out, "SEAL file to write, mode 0600").Required();
  AddRingOption(secret, &of_secret->ring);

  const auto [keys, of_keys] = AddExport(
      app, "evaluation-keys",
      "new relinearisation and Galois keys of the matching ring for SEAL, all that the model needs "
      "(key owner)",
      "evaluation-keys --model m.heft --secret-key secret.key --out seal-keys",
      ExportEvaluationKeys);
  keys.Add("-o,--out", &of_keys->out, "folder for relin_keys.seal and galois_keys.seal").Required();
}

}  // namespace heft::cli
