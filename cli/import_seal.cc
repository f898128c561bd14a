// SPDX-License-Identifier: Apache-2.0
// heft import-seal: what a server may have. The secret key is in cli/seal_secret.cc.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/identity.h"
#include "cli/commands.h"
#include "cli/seal_files.h"
#include "fusion/fuser.h"
#include "fusion/key_files.h"
#include "fusion/plan_for_keys.h"
#include "fusion/samples.h"
#include "seal/keys.h"
#include "seal/objects.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, in, relin, galois, modality, key_id_of, out;
  std::vector<std::string> inputs, labels;
};

absl::Status Finish(const Common& common, const Options& options, const ckks::KeyId& key_id,
                    std::vector<uint8_t> bytes, Json json, const std::string& what) {
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  json["out"] = options.out;
  json["key_id"] = HexString(key_id);
  json["bytes"] = bytes.size();
  Print(common, json,
        absl::StrCat(what, ": ", options.out, ", ", HumanBytes(bytes.size()), ", key ",
                     HexString(key_id)));
  return absl::OkStatus();
}

// kFailedPrecondition where `keys` lack one that the plan cannot do without.
absl::Status CheckRotations(const Instance& instance,
                            const std::map<uint32_t, ckks::FullSwitchKey>& keys,
                            const std::string& path) {
  const ckks::Params& params = instance.params();
  std::map<uint32_t, size_t> missing;
  for (const auto& [element, limbs] : instance.plan.galois_keys) {
    if (keys.count(element) == 0 && !IsRotationAndConjugation(params, element)) {
      missing[element] = limbs;
    }
  }
  if (missing.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  if (missing.count(ckks::ConjugationElement(params)) != 0) names.push_back("conjugation (0)");
  for (uint32_t step : RotationSteps(params, missing)) names.push_back(absl::StrCat(step));
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": lacks the Galois keys of these steps, which the model needs: ",
                   absl::StrJoin(names, ", "), " (heft export-seal parameters lists all)"));
}

absl::Status ImportEvaluationKeys(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(const ckks::KeyId key_id, KeyIdOf(options.key_id_of));
  const ckks::Context& context = *instance.context;
  std::map<uint32_t, ckks::FullSwitchKey> keys;
  {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(options.galois));
    const Progress progress(common.monitor, "reading Galois keys");
    HEFT_ASSIGN_OR_RETURN(keys, seal::ReadGaloisKeys(context, bytes, instance.plan.galois_keys,
                                                     options.galois, progress.Callback()));
  }
  HEFT_RETURN_IF_ERROR(CheckRotations(instance, keys, options.galois));
  const size_t rotations = keys.size();
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> relin, ReadFile(options.relin));
  HEFT_ASSIGN_OR_RETURN(const seal::KeyDigits digits,
                        seal::ReadRelinearisationKey(context, relin, options.relin));
  keys[1] = seal::CutKey(digits, instance.plan.relinearisation_limbs);
  return Finish(common, options, key_id, SerializeFullEvaluationKeys(context, key_id, keys),
                {{"galois_keys", rotations}}, "evaluation keys");
}

absl::Status ImportEncryptionKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(const ckks::KeyId key_id, KeyIdOf(options.key_id_of));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(const seal::KeyPart key,
                        seal::ReadPublicKey(*instance.context, bytes, options.in));
  return Finish(common, options, key_id,
                SerializeEncryptionKey(*instance.context, seal::ToPublicKey(key_id, key)),
                Json::object(), "encryption key");
}

// One label a sample, one for all, or none.
absl::StatusOr<std::vector<std::string>> Labels(const Options& options) {
  const size_t samples = options.inputs.size();
  std::vector<std::string> labels = options.labels;
  if (labels.size() <= 1) labels.resize(samples, labels.empty() ? "" : labels[0]);
  if (labels.size() != samples) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " labels for ", samples, " samples"));
  }
  for (const std::string& label : options.labels) HEFT_RETURN_IF_ERROR(CheckIdentity(label));
  return labels;
}

absl::Status ImportSamples(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(options.modality));
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> labels, Labels(options));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(const ckks::KeyId key_id, KeyIdOf(options.key_id_of));
  SampleWriter writer(*instance.context, MakeSampleHeader(instance, model, index, key_id, false),
                      labels);
  const Progress progress(common.monitor, "reading ciphertexts");
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    const std::string& path = options.inputs[i];
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
    HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext ciphertext,
                          seal::ReadCiphertext(*instance.context, bytes, path));
    const absl::Status form = CheckInput(instance.plan, ciphertext, options.modality);
    if (!form.ok()) {
      return absl::Status(form.code(), absl::StrCat(path, ": ", std::string(form.message())));
    }
    writer.Add(ciphertext);
    if (!progress.Update(i + 1, options.inputs.size())) return absl::CancelledError("interrupted");
  }
  return Finish(common, options, key_id, writer.Finish(),
                {{"modality", options.modality}, {"samples", labels.size()}},
                absl::StrCat(labels.size(), " ", options.modality, " samples"));
}

using Import = absl::Status (*)(const Common&, const Options&);

Command AddImport(Command app, const std::shared_ptr<Options>& options, const std::string& name,
                  const std::string& description, const std::string& example, Import import) {
  const Command command =
      AddCommand(ImportSealGroup(app), name, description, example,
                 [options, import](const Common& common) { return import(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-o,--out", &options->out, "HEFT file to write").Required();
  return command;
}

}  // namespace

void AddImportSeal(Command app) {
  auto options = std::make_shared<Options>();
  const Command keys = AddImport(app, options, "evaluation-keys",
                                 "SEAL's relinearisation and Galois keys, for a server",
                                 "heft-server import-seal evaluation-keys --model m.heft --relin "
                                 "relin.seal --galois galois.seal --out evaluation.keys",
                                 ImportEvaluationKeys);
  keys.Add("--relin", &options->relin, "SEAL's relinearisation keys").Required();
  keys.Add("--galois", &options->galois, "SEAL's Galois keys").Required();
  AddKeyIdOption(keys, &options->key_id_of);

  options = std::make_shared<Options>();
  const Command key =
      AddImport(app, options, "encryption-key", "SEAL's public key, for HEFT's clients",
                "heft-server import-seal encryption-key --model m.heft --in "
                "public.seal --key-id-of evaluation.keys --out encryption.key",
                ImportEncryptionKey);
  key.Add("-i,--in", &options->in, "SEAL's public key").Required();
  AddKeyIdOption(key, &options->key_id_of);

  options = std::make_shared<Options>();
  const Command samples = AddImport(
      app, options, "samples", "vectors of one modality that SEAL encrypted (docs/seal.md)",
      "heft-server import-seal samples --model m.heft --modality face --key-id-of evaluation.keys "
      "--in 0.seal 1.seal --label ann bob --out face.ct",
      ImportSamples);
  samples.Add("--modality", &options->modality, "name of the modality in the model").Required();
  samples.Add("-i,--in", &options->inputs, "SEAL's ciphertexts, one a sample").Required();
  samples.Add("--label", &options->labels, "identity of each sample, or one for all");
  samples
      .Add("--key-id-of", &options->key_id_of,
           "a HEFT file made for the same secret key, such as the evaluation keys")
      .Required();
}

}  // namespace heft::cli
