// SPDX-License-Identifier: Apache-2.0
// heft import-seal: what a server may have. The secret key is in cli/seal_secret.cc.
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/seal_files.h"
#include "heft/inspect.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, in, enrolment_in, relin, galois, modality, key_id_of, out;
  std::vector<std::string> inputs, labels;
};

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

auto AddImport(Command app, const std::string& name, const std::string& description,
               const std::string& example,
               absl::Status (*run)(const Common& common, const Options& options)) {
  const auto added = AddCommand(ImportSealGroup(app), name, description, example, run);
  added.first.Add("-m,--model", &added.second->model, "model file").Required();
  added.first.Add("-o,--out", &added.second->out, "HEFT file to write").Required();
  return added;
}

}  // namespace

void AddImportSeal(Command app) {
  const auto [keys, evaluation] =
      AddImport(app, "evaluation-keys",
                "SEAL's relinearisation and Galois keys, for a server "
                "(profile thin: of the matching ring)",
                "heft-server import-seal evaluation-keys --model m.heft --relin "
                "relin.seal --galois galois.seal --out evaluation.keys",
                ImportEvaluationKeys);
  keys.Add("--relin", &evaluation->relin, "SEAL's relinearisation keys").Required();
  keys.Add("--galois", &evaluation->galois, "SEAL's Galois keys").Required();
  AddKeyIdOption(keys, &evaluation->key_id_of);

  const auto [key, encryption] =
      AddImport(app, "encryption-key", "SEAL's public key, for HEFT's clients",
                "heft-server import-seal encryption-key --model m.heft --in "
                "public.seal --key-id-of evaluation.keys --out encryption.key",
                ImportEncryptionKey);
  key.Add("-i,--in", &encryption->in, "SEAL's public key; profile thin: of the matching ring")
      .Required();
  key.Add("--enrolment-in", &encryption->enrolment_in,
          "profile thin: SEAL's public key of the enrolment ring");
  AddKeyIdOption(key, &encryption->key_id_of);

  const auto [samples, options] = AddImport(
      app, "samples", "vectors of one modality that SEAL encrypted (docs/seal.md)",
      "heft-server import-seal samples --model m.heft --modality face --key-id-of evaluation.keys "
      "--in 0.seal 1.seal --label ann bob --out face.ct",
      ImportSamples);
  samples.Add("--modality", &options->modality, "name of the modality in the model").Required();
  samples
      .Add("-i,--in", &options->inputs,
           "SEAL's ciphertexts, one a sample; profile thin: all of the matching ring, for "
           "identification, or all of the enrolment ring")
      .Required();
  samples.Add("--label", &options->labels, "identity of each sample, or one for all");
  samples
      .Add("--key-id-of", &options->key_id_of,
           "a HEFT file made for the same secret key, such as the evaluation keys")
      .Required();
}

}  // namespace heft::cli
