// SPDX-License-Identifier: Apache-2.0
// heft-seal export and import, and their work on objects that need no secret key.
// cli/seal_secret.cc has the others.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/seal_commands.h"
#include "heft/inspect.h"

namespace heft::cli {
namespace {

absl::Status ExportParameters(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(const SealParameters made,
                        ExportSealParameters(model, SealCompression::kZstd, given.ring));
  HEFT_RETURN_IF_ERROR(WriteResult(given.out, made.parameters));
  Json modalities = Json::array();
  for (size_t i = 0; i < model.modalities.size(); ++i) {
    const ModalitySpec& modality = model.modalities[i];
    modalities.push_back(
        {{"name", modality.name}, {"dimension", modality.dimension}, {"run", made.runs[i]}});
  }
  const bool keys = !made.rotation_steps.empty();
  Json json = {{"out", given.out},      {"degree", made.degree},
               {"primes", made.primes}, {"scale", made.scale},
               {"gamma", model.gamma},  {"modalities", modalities},
               {"conjugation", keys},   {"rotation_steps", made.rotation_steps}};
  if (!made.ring.empty()) json["ring"] = made.ring;
  const std::string steps = keys ? absl::StrCat("conjugation (step 0) and steps ",
                                                absl::StrJoin(made.rotation_steps, ", "))
                                 : "none: heft keygen makes enrolment keys";
  Print(common, json,
        absl::StrFormat("SEAL parameters: %s, %s%s\n  encrypt at scale 2^%g and the first level\n"
                        "  Galois keys: %s\n",
                        given.out, made.description,
                        made.ring.empty() ? "" : absl::StrCat(", the ", made.ring, " ring"),
                        std::log2(made.scale), steps));
  return absl::OkStatus();
}

absl::Status ExportEncryptionKey(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const std::string in, given.In());
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> key, ReadFile(in));
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> bytes,
      ExportSealEncryptionKey(model, key, in, SealCompression::kZstd, given.ring));
  HEFT_RETURN_IF_ERROR(WriteResult(given.out, bytes));
  Print(common, {{"out", given.out}, {"bytes", bytes.size()}},
        absl::StrCat("SEAL public key: ", given.out, ", ", HumanBytes(bytes.size())));
  return absl::OkStatus();
}

absl::Status ExportSamples(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const std::string in, given.In());
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(in));
  HEFT_ASSIGN_OR_RETURN(
      SealSamples samples,
      ExportSealSamples(model, {std::move(bytes), in}, SealCompression::kZstd, common.monitor));
  NamedFiles files;
  Json list = Json::array();
  const size_t count = samples.ciphertexts.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = absl::StrCat(i, ".seal");
    files[name] = std::move(samples.ciphertexts[i]);
    list.push_back({{"file", name}});
    if (!samples.bulk) list.back()["label"] = samples.labels[i];
  }
  HEFT_RETURN_IF_ERROR(WriteNewFiles(given.out, files));
  Print(common, {{"out", given.out}, {"ciphertexts", list}},
        absl::StrCat(count, " SEAL ciphertexts: ", given.out));
  return absl::OkStatus();
}

absl::Status ExportScores(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const std::string in, given.In());
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(in));
  HEFT_ASSIGN_OR_RETURN(SealScores scores,
                        ExportSealScores(model, bytes, in, SealCompression::kZstd));
  const bool verification = scores.kind == ScoreKind::kVerification;
  NamedFiles files;
  Json replies = Json::array();
  for (size_t i = 0; i < scores.replies.size(); ++i) {
    const std::string name = absl::StrCat("scores-", i, ".seal");
    files[name] = std::move(scores.replies[i].ciphertext);
    Json reply = {{"file", name}};
    if (!verification) reply["block"] = scores.replies[i].block;
    for (const SealScores::Answer& answer : scores.replies[i].answers) {
      reply["answers"].push_back({{"slot", answer.slot}, {"lane", answer.lane}});
    }
    replies.push_back(reply);
  }
  Json json = {{"out", given.out},
               {"kind", verification ? "verification" : "identification"},
               {"probe", scores.probe},
               {"templates", scores.templates},
               {"identities", scores.identities},
               {"replies", replies}};
  if (verification) json["claimed"] = scores.claimed;
  if (!scores.factors.empty()) json["factors"] = scores.factors;
  files["squared-norm.seal"] = std::move(scores.squared_norm);
  files["squared-norm-turned.seal"] = std::move(scores.squared_norm_turned);
  json["squared_norm"] = "squared-norm.seal";
  json["squared_norm_turned"] = "squared-norm-turned.seal";
  HEFT_RETURN_IF_ERROR(WriteNewFiles(given.out, files));
  Print(common, json,
        absl::StrCat(files.size(), " SEAL ciphertexts: ", given.out,
                     "\n  divide scores by the square root of squared-norm.seal"));
  return absl::OkStatus();
}

absl::Status Finish(const Common& common, const SealFiles& given, const KeyId& key_id,
                    const std::vector<uint8_t>& bytes, Json json, const std::string& what) {
  HEFT_RETURN_IF_ERROR(WriteResult(given.out, bytes));
  json["out"] = given.out;
  json["key_id"] = HexString(key_id);
  json["bytes"] = bytes.size();
  Print(common, json,
        absl::StrCat(what, ": ", given.out, ", ", HumanBytes(bytes.size()), ", key ",
                     HexString(key_id)));
  return absl::OkStatus();
}

absl::Status ImportEvaluationKeys(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(given.key_id_of));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> galois, ReadFile(given.galois));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> relin, ReadFile(given.relin));
  HEFT_ASSIGN_OR_RETURN(const ImportedEvaluationKeys keys,
                        ImportSealEvaluationKeys(model, key_id, {galois, given.galois},
                                                 {relin, given.relin}, common.monitor));
  return Finish(common, given, key_id, keys.bytes, {{"galois_keys", keys.galois_keys}},
                "evaluation keys");
}

absl::Status ImportEncryptionKey(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const std::string in, given.In());
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(given.key_id_of));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> seal, ReadFile(in));
  std::vector<uint8_t> enrolment;
  if (!given.enrolment_in.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrolment, ReadFile(given.enrolment_in));
  }
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> key,
      ImportSealEncryptionKey(model, key_id, seal, in, {enrolment, given.enrolment_in}));
  return Finish(common, given, key_id, key, Json::object(), "encryption key");
}

absl::Status ImportSamples(const Common& common, const SealFiles& given) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.key.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(given.key_id_of));
  std::vector<SampleFile> files;
  for (const std::string& path : given.inputs) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
    files.push_back({std::move(bytes), path});
  }
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> samples,
      ImportSealSamples(model, given.modality, key_id, files, given.labels, common.monitor));
  return Finish(common, given, key_id, samples,
                {{"modality", given.modality}, {"samples", files.size()}},
                absl::StrCat(files.size(), " ", given.modality, " samples"));
}

absl::Status RunExport(const Common& common, const SealFiles& given) {
  if (given.kind == "parameters") return ExportParameters(common, given);
  if (given.kind == "encryption-key") return ExportEncryptionKey(common, given);
  if (given.kind == "samples") return ExportSamples(common, given);
  if (given.kind == "scores") return ExportScores(common, given);
  if (given.kind == "secret-key") return ExportSecretKey(common, given);
  return ExportEvaluationKeys(common, given);
}

absl::Status RunImport(const Common& common, const SealFiles& given) {
  if (given.kind == "evaluation-keys") return ImportEvaluationKeys(common, given);
  if (given.kind == "encryption-key") return ImportEncryptionKey(common, given);
  if (given.kind == "samples") return ImportSamples(common, given);
  return ImportSecretKey(common, given);
}

}  // namespace

absl::StatusOr<std::string> SealFiles::In() const {
  if (inputs.size() == 1) return inputs[0];
  return WrongUsage(absl::StrCat("--in: give one file for ", kind));
}

absl::StatusOr<KeyId> KeyIdOf(const std::string& path) {
  if (path.empty()) return NewKeyId();
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  HEFT_ASSIGN_OR_RETURN(const FileInfo file, InspectFile(bytes, path));
  if (file.key_id) return *file.key_id;
  return absl::DataLossError(
      absl::StrCat(path, ": carries no key id: give HEFT keys, samples or scores"));
}

void AddExport(Command app) {
  const auto [command, files] = AddCommand(
      app, "export", "make objects of Microsoft SEAL 4.x from HEFT files",
      "heft-seal export parameters --model m.heft --out parms.seal\n"
      "  heft-seal export encryption-key --model m.heft --in encryption.key --out public.seal\n"
      "  heft-seal export samples --model m.heft --in face.ct --out face\n"
      "  heft-seal export scores --model m.heft --in scores.ct --out scores\n"
      "  heft-seal export secret-key --model m.heft --secret-key secret.key --out secret.seal\n"
      "  heft-seal export evaluation-keys --model m.heft --secret-key secret.key --out seal-keys",
      RunExport);
  const Kinds kinds(
      command, "KIND", &files->kind,
      {{"parameters", "SEAL's encryption parameters for a model, and how to use them"},
       {"encryption-key", "a HEFT encryption key as SEAL's public key"},
       {"samples", "encrypted samples as SEAL's ciphertexts"},
       {"scores", "encrypted scores as SEAL's ciphertexts"},
       {"secret-key", "the secret key for SEAL, not encrypted (key owner)"},
       {"evaluation-keys",
        "new relinearisation and Galois keys of the matching ring for SEAL, all that the model "
        "needs (key owner)"}});
  command.Add("-m,--model", &files->key.model, "model file").Required();
  kinds.Only(command.Add("-i,--in", &files->inputs, "the HEFT file"),
             {"encryption-key", "samples", "scores"}, {"encryption-key", "samples", "scores"});
  kinds.Only(command.Add("--secret-key", &files->key.secret_key, "secret key"),
             {"secret-key", "evaluation-keys"}, {"secret-key", "evaluation-keys"});
  kinds.Only(command.Add("--passphrase-file", &files->key.passphrase_file,
                         "first line: passphrase of the secret key"),
             {"secret-key", "evaluation-keys"});
  command
      .Add("-o,--out", &files->out,
           "SEAL file to write (a secret key's has mode 0600); a folder for samples, scores and "
           "evaluation keys")
      .Required();
  SealRing* const ring = &files->ring;
  kinds.Only(
      command
          .Add(
              "--ring",
              [ring](const std::string& name) { *ring = ParseSealRing(name).value_or(*ring); },
              "matching (default; probes of an identification, scores) or enrolment "
              "(samples to enrol or verify)")
          .Choices({"matching", "enrolment"}),
      {"parameters", "encryption-key", "secret-key"});
}

void AddImport(Command app) {
  const auto [command, files] = AddCommand(
      app, "import", "make HEFT files from objects of Microsoft SEAL 4.x",
      "heft-seal import evaluation-keys --model m.heft --relin relin.seal --galois galois.seal "
      "--out evaluation.keys\n"
      "  heft-seal import encryption-key --model m.heft --in matching.seal --enrolment-in "
      "enrolment.seal --key-id-of evaluation.keys --out encryption.key\n"
      "  heft-seal import samples --model m.heft --modality face --key-id-of evaluation.keys "
      "--in 0.seal 1.seal --label ann bob --out face.ct\n"
      "  heft-seal import secret-key --model m.heft --in matching.seal --enrolment-in "
      "enrolment.seal --key-id-of evaluation.keys --out secret.key",
      RunImport);
  const Kinds kinds(command, "KIND", &files->kind,
                    {{"evaluation-keys",
                      "SEAL's relinearisation and Galois keys of the matching ring, for a server"},
                     {"encryption-key", "SEAL's public keys, for HEFT's clients"},
                     {"samples", "vectors of one modality that SEAL encrypted (docs/seal.md)"},
                     {"secret-key", "SEAL's secret keys (key owner)"}});
  command.Add("-m,--model", &files->key.model, "model file").Required();
  kinds.Only(command.Add("--relin", &files->relin, "SEAL's relinearisation keys"),
             {"evaluation-keys"}, {"evaluation-keys"});
  kinds.Only(command.Add("--galois", &files->galois, "SEAL's Galois keys"), {"evaluation-keys"},
             {"evaluation-keys"});
  kinds.Only(command.Add("-i,--in", &files->inputs,
                         "SEAL's key of the matching ring, or SEAL's ciphertexts, one per sample: "
                         "all of the matching ring (identification) or all of the enrolment ring"),
             {"encryption-key", "samples", "secret-key"},
             {"encryption-key", "samples", "secret-key"});
  kinds.Only(command.Add("--enrolment-in", &files->enrolment_in,
                         "SEAL's key of the same kind of the enrolment ring"),
             {"encryption-key", "secret-key"}, {"encryption-key", "secret-key"});
  kinds.Only(command.Add("--modality", &files->modality, "name of the modality in the model"),
             {"samples"}, {"samples"});
  kinds.Only(command.Add("--label", &files->labels, "identity of each sample, or one for all"),
             {"samples"});
  kinds.Only(command.Add("--key-id-of", &files->key_id_of,
                         "a HEFT file for the same secret key, to use its key id (default: a new "
                         "one)"),
             {"evaluation-keys", "encryption-key", "samples", "secret-key"}, {"samples"});
  kinds.Only(command.Add("--passphrase", &files->sealing.ask,
                         "encrypt it under a passphrase, which is asked for on the terminal"),
             {"secret-key"});
  kinds.Only(command.Add("--passphrase-file", &files->sealing.file,
                         "the passphrase is the first line of this file"),
             {"secret-key"});
  command.Add("-o,--out", &files->out, "HEFT file to write (a secret key's has mode 0600)")
      .Required();
}

}  // namespace heft::cli
