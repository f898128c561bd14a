// SPDX-License-Identifier: Apache-2.0
// heft-seal export and import, for objects that need no secret key. cli/seal_secret.cc has the
// others.
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/seal_commands.h"
#include "heft/inspect.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, in, enrolment_in, relin, galois, modality, key_id_of, out;
  std::vector<std::string> inputs, labels;
  SealRing ring = SealRing::kMatching;
};

absl::Status ExportParameters(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const SealParameters made,
                        ExportSealParameters(model, SealCompression::kZstd, options.ring));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, made.parameters));
  Json modalities = Json::array();
  for (size_t i = 0; i < model.modalities.size(); ++i) {
    const ModalitySpec& modality = model.modalities[i];
    modalities.push_back(
        {{"name", modality.name}, {"dimension", modality.dimension}, {"run", made.runs[i]}});
  }
  const bool keys = !made.rotation_steps.empty();
  Json json = {{"out", options.out},    {"degree", made.degree},
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
                        options.out, made.description,
                        made.ring.empty() ? "" : absl::StrCat(", the ", made.ring, " ring"),
                        std::log2(made.scale), steps));
  return absl::OkStatus();
}

absl::Status ExportEncryptionKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> key, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> bytes,
      ExportSealEncryptionKey(model, key, options.in, SealCompression::kZstd, options.ring));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Print(common, {{"out", options.out}, {"bytes", bytes.size()}},
        absl::StrCat("SEAL public key: ", options.out, ", ", HumanBytes(bytes.size())));
  return absl::OkStatus();
}

absl::Status ExportSamples(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(SealSamples samples,
                        ExportSealSamples(model, {std::move(bytes), options.in},
                                          SealCompression::kZstd, common.monitor));
  NamedFiles files;
  Json list = Json::array();
  const size_t count = samples.ciphertexts.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = absl::StrCat(i, ".seal");
    files[name] = std::move(samples.ciphertexts[i]);
    list.push_back({{"file", name}});
    if (!samples.bulk) list.back()["label"] = samples.labels[i];
  }
  HEFT_RETURN_IF_ERROR(WriteNewFiles(options.out, files));
  Print(common, {{"out", options.out}, {"ciphertexts", list}},
        absl::StrCat(count, " SEAL ciphertexts: ", options.out));
  return absl::OkStatus();
}

absl::Status ExportScores(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(SealScores scores,
                        ExportSealScores(model, bytes, options.in, SealCompression::kZstd));
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
  Json json = {{"out", options.out},
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
  HEFT_RETURN_IF_ERROR(WriteNewFiles(options.out, files));
  Print(common, json,
        absl::StrCat(files.size(), " SEAL ciphertexts: ", options.out,
                     "\n  divide scores by the square root of squared-norm.seal"));
  return absl::OkStatus();
}

absl::Status Finish(const Common& common, const Options& options, const KeyId& key_id,
                    const std::vector<uint8_t>& bytes, Json json, const std::string& what) {
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  json["out"] = options.out;
  json["key_id"] = HexString(key_id);
  json["bytes"] = bytes.size();
  Print(common, json,
        absl::StrCat(what, ": ", options.out, ", ", HumanBytes(bytes.size()), ", key ",
                     HexString(key_id)));
  return absl::OkStatus();
}

absl::Status ImportEvaluationKeys(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(options.key_id_of));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> galois, ReadFile(options.galois));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> relin, ReadFile(options.relin));
  HEFT_ASSIGN_OR_RETURN(const ImportedEvaluationKeys keys,
                        ImportSealEvaluationKeys(model, key_id, {galois, options.galois},
                                                 {relin, options.relin}, common.monitor));
  return Finish(common, options, key_id, keys.bytes, {{"galois_keys", keys.galois_keys}},
                "evaluation keys");
}

absl::Status ImportEncryptionKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(options.key_id_of));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> seal, ReadFile(options.in));
  std::vector<uint8_t> enrolment;
  if (!options.enrolment_in.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrolment, ReadFile(options.enrolment_in));
  }
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> key,
      ImportSealEncryptionKey(model, key_id, seal, options.in, {enrolment, options.enrolment_in}));
  return Finish(common, options, key_id, key, Json::object(), "encryption key");
}

absl::Status ImportSamples(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const KeyId key_id, KeyIdOf(options.key_id_of));
  std::vector<SampleFile> files;
  for (const std::string& path : options.inputs) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
    files.push_back({std::move(bytes), path});
  }
  HEFT_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> samples,
      ImportSealSamples(model, options.modality, key_id, files, options.labels, common.monitor));
  return Finish(common, options, key_id, samples,
                {{"modality", options.modality}, {"samples", files.size()}},
                absl::StrCat(files.size(), " ", options.modality, " samples"));
}

using Run = absl::Status (*)(const Common& common, const Options& options);

auto AddExport(Command app, const std::string& name, const std::string& description,
               const std::string& input, const std::string& output, const std::string& example,
               Run run) {
  const auto added =
      AddCommand(ExportGroup(app), name, description, "heft-seal export " + example, run);
  const auto& [command, options] = added;
  command.Add("-m,--model", &options->model, "model file").Required();
  if (!input.empty()) command.Add("-i,--in", &options->in, input).Required();
  command.Add("-o,--out", &options->out, output).Required();
  return added;
}

auto AddImport(Command app, const std::string& name, const std::string& description,
               const std::string& example, Run run) {
  const auto added =
      AddCommand(ImportGroup(app), name, description, "heft-seal import " + example, run);
  added.first.Add("-m,--model", &added.second->model, "model file").Required();
  added.first.Add("-o,--out", &added.second->out, "HEFT file to write").Required();
  return added;
}

}  // namespace

Command ImportGroup(Command app) {
  return app.Group("import", "make HEFT files from objects of Microsoft SEAL 4.x");
}

Command ExportGroup(Command app) {
  return app.Group("export", "make objects of Microsoft SEAL 4.x from HEFT files");
}

void AddRingOption(Command command, SealRing* ring) {
  command
      .Add(
          "--ring",
          [ring](const std::string& name) { *ring = ParseSealRing(name).value_or(*ring); },
          "matching (default; probes of an identification, scores) or enrolment "
          "(samples to enrol or verify)")
      .Choices({"matching", "enrolment"});
}

absl::StatusOr<KeyId> KeyIdOf(const std::string& path) {
  if (path.empty()) return NewKeyId();
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  HEFT_ASSIGN_OR_RETURN(const FileInfo file, InspectFile(bytes, path));
  if (file.key_id) return *file.key_id;
  return absl::DataLossError(
      absl::StrCat(path, ": carries no key id: give HEFT keys, samples or scores"));
}

void AddKeyIdOption(Command command, std::string* path) {
  command.Add("--key-id-of", path,
              "a HEFT file for the same secret key, to use its key id (default: a new one)");
}

void AddExports(Command app) {
  const auto [parameters, of_model] = AddExport(
      app, "parameters", "SEAL's encryption parameters for a model, and how to use them", "",
      "SEAL file to write", "parameters --model m.heft --out parms.seal", ExportParameters);
  AddRingOption(parameters, &of_model->ring);

  const auto [key, of_key] = AddExport(
      app, "encryption-key", "a HEFT encryption key as SEAL's public key", "encryption key",
      "SEAL file to write", "encryption-key --model m.heft --in encryption.key --out public.seal",
      ExportEncryptionKey);
  AddRingOption(key, &of_key->ring);

  AddExport(app, "samples", "encrypted samples as SEAL's ciphertexts", "encrypted samples",
            "folder for the SEAL files", "samples --model m.heft --in face.ct --out face",
            ExportSamples);
  AddExport(app, "scores", "encrypted scores as SEAL's ciphertexts", "encrypted scores",
            "folder for the SEAL files", "scores --model m.heft --in scores.ct --out scores",
            ExportScores);
}

void AddImports(Command app) {
  const auto [keys, evaluation] =
      AddImport(app, "evaluation-keys",
                "SEAL's relinearisation and Galois keys of the matching ring, for a server",
                "evaluation-keys --model m.heft --relin relin.seal --galois galois.seal --out "
                "evaluation.keys",
                ImportEvaluationKeys);
  keys.Add("--relin", &evaluation->relin, "SEAL's relinearisation keys").Required();
  keys.Add("--galois", &evaluation->galois, "SEAL's Galois keys").Required();
  AddKeyIdOption(keys, &evaluation->key_id_of);

  const auto [key, encryption] =
      AddImport(app, "encryption-key", "SEAL's public key, for HEFT's clients",
                "encryption-key --model m.heft --in "
                "matching.seal --enrolment-in enrolment.seal --key-id-of evaluation.keys "
                "--out encryption.key",
                ImportEncryptionKey);
  key.Add("-i,--in", &encryption->in, "SEAL's public key of the matching ring").Required();
  key.Add("--enrolment-in", &encryption->enrolment_in, "SEAL's public key of the enrolment ring")
      .Required();
  AddKeyIdOption(key, &encryption->key_id_of);

  const auto [samples, options] =
      AddImport(app, "samples", "vectors of one modality that SEAL encrypted (docs/seal.md)",
                "samples --model m.heft --modality face --key-id-of evaluation.keys "
                "--in 0.seal 1.seal --label ann bob --out face.ct",
                ImportSamples);
  samples.Add("--modality", &options->modality, "name of the modality in the model").Required();
  samples
      .Add("-i,--in", &options->inputs,
           "SEAL's ciphertexts, one per sample: all of the matching ring "
           "(identification) or all of the enrolment ring")
      .Required();
  samples.Add("--label", &options->labels, "identity of each sample, or one for all");
  samples
      .Add("--key-id-of", &options->key_id_of,
           "a HEFT file made for the same secret key, such as the evaluation keys")
      .Required();
}

}  // namespace heft::cli
