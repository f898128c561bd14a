// SPDX-License-Identifier: Apache-2.0
// heft export-seal: what a server may have. What needs the secret key is in cli/seal_secret.cc.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/seal_files.h"
#include "fusion/key_files.h"
#include "fusion/samples.h"
#include "gallery/scores.h"
#include "seal/keys.h"
#include "seal/objects.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, in, out;
  seal::Compression compression = seal::Compression::kZstd;
};

struct Loaded {
  Model model;
  Instance instance;
  std::vector<uint8_t> bytes;  // of the input, if there is one
};

absl::StatusOr<Loaded> Load(const Options& options) {
  Loaded loaded;
  HEFT_ASSIGN_OR_RETURN(loaded.model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(loaded.instance, MakeInstance(loaded.model));
  if (!options.in.empty()) {
    HEFT_ASSIGN_OR_RETURN(loaded.bytes, ReadFile(options.in));
  }
  return loaded;
}

absl::Status ExportParameters(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Loaded loaded, Load(options));
  const ckks::Params& params = loaded.instance.params();
  const FusionPlan& plan = loaded.instance.plan;
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, seal::WriteParams(params, options.compression)));
  const std::vector<uint32_t> steps = RotationSteps(params, plan.galois_keys);
  Json modalities = Json::array();
  for (size_t i = 0; i < loaded.model.modalities.size(); ++i) {
    const ModalitySpec& modality = loaded.model.modalities[i];
    modalities.push_back({{"name", modality.name},
                          {"dimension", modality.dimension},
                          {"run", plan.pairs[i / 2].run}});
  }
  Print(common,
        {{"out", options.out},
         {"degree", params.n()},
         {"primes", params.primes()},
         {"scale", plan.input_scale},
         {"gamma", plan.gamma},
         {"modalities", modalities},
         {"conjugation", true},
         {"rotation_steps", steps}},
        absl::StrFormat("SEAL parameters: %s, %s\n  encrypt at scale 2^%g and the first level\n"
                        "  Galois keys: conjugation (step 0) and steps %s\n",
                        options.out, params.Describe(), std::log2(plan.input_scale),
                        absl::StrJoin(steps, ", ")));
  return absl::OkStatus();
}

absl::Status ExportEncryptionKey(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Loaded loaded, Load(options));
  const ckks::Context& context = *loaded.instance.context;
  HEFT_ASSIGN_OR_RETURN(const ckks::PublicKey key,
                        ParseEncryptionKey(context, loaded.bytes, options.in));
  const std::vector<uint8_t> bytes =
      seal::WritePublicKey(context, seal::FromPublicKey(key), options.compression);
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Print(common, {{"out", options.out}, {"bytes", bytes.size()}},
        absl::StrCat("SEAL public key: ", options.out, ", ", HumanBytes(bytes.size())));
  return absl::OkStatus();
}

absl::Status ExportSamples(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(Loaded loaded, Load(options));
  HEFT_ASSIGN_OR_RETURN(
      const SampleReader samples,
      SampleReader::Parse(loaded.instance.context, std::move(loaded.bytes), options.in));
  std::map<std::string, std::vector<uint8_t>> files;
  Json list = Json::array();
  const Progress progress(common.monitor, "writing ciphertexts");
  const size_t count = samples.bulk() ? samples.header().dimension : samples.size();
  for (size_t i = 0; i < count; ++i) {
    HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext ciphertext,
                          samples.bulk() ? samples.Coordinate(i) : samples.Sample(i));
    const std::string name = absl::StrCat(i, ".seal");
    files[name] = seal::WriteCiphertext(*loaded.instance.context, ciphertext, options.compression);
    list.push_back({{"file", name}});
    if (!samples.bulk()) list.back()["label"] = samples.labels()[i];
    if (!progress.Update(i + 1, count)) return absl::CancelledError("interrupted");
  }
  HEFT_RETURN_IF_ERROR(WriteFiles(options.out, files));
  Print(common, {{"out", options.out}, {"ciphertexts", list}},
        absl::StrCat(count, " SEAL ciphertexts: ", options.out));
  return absl::OkStatus();
}

absl::Status ExportScores(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Loaded loaded, Load(options));
  const ckks::Context& context = *loaded.instance.context;
  HEFT_ASSIGN_OR_RETURN(const EncryptedScores scores,
                        ParseScores(context, loaded.bytes, options.in));
  const bool verification = scores.kind == ScoreKind::kVerification;
  std::map<std::string, std::vector<uint8_t>> files;
  Json replies = Json::array();
  for (size_t i = 0; i < scores.replies.size(); ++i) {
    const std::string name = absl::StrCat("scores-", i, ".seal");
    files[name] = seal::WriteCiphertext(context, scores.replies[i].scores, options.compression);
    Json reply = {{"file", name}};
    // An identification answers for every template, by position.
    for (const ScoreReply::Answer& answer : scores.replies[i].answers) {
      if (verification) reply["answers"].push_back({{"slot", answer.slot}, {"lane", answer.lane}});
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
  if (scores.squared_norm) {
    files["squared-norm.seal"] =
        seal::WriteCiphertext(context, *scores.squared_norm, options.compression);
    json["squared_norm"] = "squared-norm.seal";
  }
  HEFT_RETURN_IF_ERROR(WriteFiles(options.out, files));
  Print(common, json, absl::StrCat(files.size(), " SEAL ciphertexts: ", options.out));
  return absl::OkStatus();
}

using Export = absl::Status (*)(const Common&, const Options&);

void AddExport(Command app, const std::string& name, const std::string& description,
               const std::string& input, const std::string& output, const std::string& example,
               Export run) {
  auto options = std::make_shared<Options>();
  const Command command =
      AddCommand(ExportSealGroup(app), name, description, "heft-server export-seal " + example,
                 [options, run](const Common& common) { return run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  if (!input.empty()) command.Add("-i,--in", &options->in, input).Required();
  command.Add("-o,--out", &options->out, output).Required();
  AddCompressionOption(command, &options->compression);
}

}  // namespace

void AddExportSeal(Command app) {
  AddExport(app, "parameters", "SEAL's encryption parameters for a model, and what to do with them",
            "", "SEAL file to write", "parameters --model m.heft --out parms.seal",
            ExportParameters);
  AddExport(app, "encryption-key", "a HEFT encryption key as SEAL's public key", "encryption key",
            "SEAL file to write",
            "encryption-key --model m.heft --in encryption.key --out public.seal",
            ExportEncryptionKey);
  AddExport(app, "samples", "encrypted samples as SEAL's ciphertexts", "encrypted samples",
            "folder for the SEAL files", "samples --model m.heft --in face.ct --out face",
            ExportSamples);
  AddExport(app, "scores", "encrypted scores as SEAL's ciphertexts", "encrypted scores",
            "folder for the SEAL files", "scores --model m.heft --in scores.ct --out scores",
            ExportScores);
}

}  // namespace heft::cli
