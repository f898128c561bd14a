// SPDX-License-Identifier: Apache-2.0
// heft export-seal: what a server may have. What needs the secret key is in cli/seal_secret.cc.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/seal_files.h"
#include "heft/inspect.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, in, out;
  SealCompression compression = SealCompression::kZstd;
  SealRing ring = SealRing::kMatching;
};

absl::Status ExportParameters(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const SealParameters made,
                        ExportSealParameters(model, options.compression, options.ring));
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
      ExportSealEncryptionKey(model, key, options.in, options.compression, options.ring));
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
                                          options.compression, common.monitor));
  std::map<std::string, std::vector<uint8_t>> files;
  Json list = Json::array();
  const size_t count = samples.ciphertexts.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = absl::StrCat(i, ".seal");
    files[name] = std::move(samples.ciphertexts[i]);
    list.push_back({{"file", name}});
    if (!samples.bulk) list.back()["label"] = samples.labels[i];
  }
  HEFT_RETURN_IF_ERROR(WriteFiles(options.out, files));
  Print(common, {{"out", options.out}, {"ciphertexts", list}},
        absl::StrCat(count, " SEAL ciphertexts: ", options.out));
  return absl::OkStatus();
}

absl::Status ExportScores(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(SealScores scores,
                        ExportSealScores(model, bytes, options.in, options.compression));
  const bool verification = scores.kind == ScoreKind::kVerification;
  std::map<std::string, std::vector<uint8_t>> files;
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
  json["divide_by_norm"] = scores.divide_by_norm;
  HEFT_RETURN_IF_ERROR(WriteFiles(options.out, files));
  Print(common, json,
        absl::StrCat(files.size(), " SEAL ciphertexts: ", options.out,
                     scores.divide_by_norm ? "\n  scores are to be divided by the root of "
                                             "squared-norm.seal"
                                           : ""));
  return absl::OkStatus();
}

auto AddExport(Command app, const std::string& name, const std::string& description,
               const std::string& input, const std::string& output, const std::string& example,
               absl::Status (*run)(const Common& common, const Options& options)) {
  const auto added = AddCommand(ExportSealGroup(app), name, description,
                                "heft-server export-seal " + example, run);
  const auto& [command, options] = added;
  command.Add("-m,--model", &options->model, "model file").Required();
  if (!input.empty()) command.Add("-i,--in", &options->in, input).Required();
  command.Add("-o,--out", &options->out, output).Required();
  AddCompressionOption(command, &options->compression);
  return added;
}

}  // namespace

void AddExportSeal(Command app) {
  const auto [parameters, of_model] = AddExport(
      app, "parameters", "SEAL's encryption parameters for a model, and what to do with them", "",
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

}  // namespace heft::cli
