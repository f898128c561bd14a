// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/client.h"
#include "heft/dataset.h"
#include "heft/inspect.h"
#include "heft/server.h"
#include "program/common.h"
#include "program/owner/key_options.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct EncryptFlags {
  KeyOptions owner;  // or `key`
  std::string key, labels, label, out;
  std::vector<std::string> modalities, inputs;
  std::string use = "enrolment", fuse = "server";
  std::optional<size_t> row;
  bool bulk = false, average = false;
  TrustOptions trust;
  std::string sign, to;
  uint64_t life = kLife;
};

// The request, signed by its sender.
absl::StatusOr<std::vector<uint8_t>> Sign(const EncryptFlags& options, std::vector<uint8_t> bytes) {
  if (options.sign.empty()) return bytes;
  HEFT_ASSIGN_OR_RETURN(const Statement statement, StatementOf("client", options.to, options.life));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, LoadSigner(options.sign));
  return key.Sign(statement, bytes);
}

// The model and, for a client, the encryption key, checked with the trust file.
absl::StatusOr<KeyAndModel> LoadKeys(const EncryptFlags& options) {
  if (options.owner.secret_key.empty()) {
    return LoadKeyAndModel(options.trust, options.key, "PUBK", options.owner.model);
  }
  KeyAndModel own;
  HEFT_ASSIGN_OR_RETURN(own.model, LoadModel(options.owner.model));
  return own;
}

// The requested row, or all.
absl::StatusOr<FeatureRows> RowsOf(const EncryptFlags& options, const Model& model, size_t i) {
  const std::string& path = options.inputs[i];
  HEFT_ASSIGN_OR_RETURN(const size_t index, model.FindModality(options.modalities[i]));
  HEFT_ASSIGN_OR_RETURN(FeatureRows rows, ReadVectors(path));
  if (rows.dimension != model.modalities[index].dimension) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": vectors of dimension ", rows.dimension, ", ", options.modalities[i],
                     " of this model has ", model.modalities[index].dimension));
  }
  if (!options.row) return rows;
  if (*options.row >= rows.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": row ", *options.row, " asked for, the file has ", rows.size()));
  }
  const std::span<const float> row = rows.row(*options.row);
  return FeatureRows{rows.dimension, {row.begin(), row.end()}};
}

absl::StatusOr<std::vector<std::string>> Labels(const EncryptFlags& options, size_t rows) {
  if (!options.label.empty()) return std::vector<std::string>(rows, options.label);
  if (options.labels.empty()) return std::vector<std::string>();
  HEFT_ASSIGN_OR_RETURN(std::vector<std::string> labels, ReadLabels(options.labels));
  if (options.row) {
    if (*options.row >= labels.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.labels, ": no label for row ", *options.row));
    }
    labels = {labels[*options.row]};
  }
  return labels;
}

// Many samples of few coordinates are smaller in bulk, for enrolment.
void HintAtBulk(const Common& common, const EncryptFlags& options, const FeatureRows& rows) {
  constexpr size_t kMany = 100;
  if (common.quiet || options.bulk || options.average || rows.size() < kMany ||
      rows.size() <= rows.dimension)
    return;
  std::cerr << "heft: a ciphertext for each of " << rows.size() << " samples; --bulk would make "
            << rows.dimension << ", for enrolment only: its files cannot be probes\n";
}

SampleEncoding EncodingOf(const EncryptFlags& options) {
  if (options.bulk) return SampleEncoding::kBulk;
  return options.fuse == "partial" ? SampleEncoding::kPartial : SampleEncoding::kCompact;
}

// The bytes of the file; `role` is a client, or a key owner.
template <typename Role>
absl::StatusOr<std::vector<uint8_t>> Encrypt(const EncryptFlags& options, const Role& role,
                                             const std::vector<Samples>& samples) {
  return options.fuse == "client" ? role.EncryptFused(samples) : role.Encrypt(samples[0]);
}

// With --row there is one row; an error names that of the file.
absl::StatusOr<std::vector<uint8_t>> AtRow(const EncryptFlags& options,
                                           absl::StatusOr<std::vector<uint8_t>> encrypted) {
  if (encrypted.ok() || !options.row) return encrypted;
  std::string why(encrypted.status().message());
  if (absl::StartsWith(why, "row 0: ")) why = absl::StrCat("row ", *options.row, why.substr(5));
  return absl::Status(encrypted.status().code(), why);
}

absl::Status CheckInputs(const EncryptFlags& options) {
  const size_t files = options.inputs.size();
  if (files != options.modalities.size()) {
    return WrongUsage(absl::StrCat(options.modalities.size(), " times --modality and ", files,
                                   " times --in: give one --in for each --modality"));
  }
  if (files == 1 || options.fuse == "client") return absl::OkStatus();
  return WrongUsage(
      "a file has one modality: call encrypt for each, or fuse them with --fuse client");
}

absl::Status RunEncrypt(const Common& common, const EncryptFlags& options) {
  HEFT_RETURN_IF_ERROR(CheckInputs(options));
  HEFT_ASSIGN_OR_RETURN(const KeyAndModel keys, LoadKeys(options));
  const Model& model = keys.model;
  std::vector<FeatureRows> rows;
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(FeatureRows read, RowsOf(options, model, i));
    rows.push_back(std::move(read));
  }
  HEFT_ASSIGN_OR_RETURN(const auto labels, Labels(options, rows[0].size()));
  HintAtBulk(common, options, rows[0]);
  std::vector<Samples> samples;
  for (size_t i = 0; i < rows.size(); ++i) {
    samples.push_back(
        {options.modalities[i], rows[i].values, labels, EncodingOf(options),
         options.use == "identification" ? SampleUse::kIdentification : SampleUse::kEnrolment,
         options.average});
  }
  std::vector<uint8_t> bytes;
  if (options.owner.secret_key.empty()) {
    HEFT_ASSIGN_OR_RETURN(const Client client, Client::Create(model, keys.key, options.key));
    HEFT_ASSIGN_OR_RETURN(bytes, AtRow(options, Encrypt(options, client, samples)));
  } else {
    HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(model, options.owner));
    HEFT_ASSIGN_OR_RETURN(bytes, AtRow(options, Encrypt(options, owner, samples)));
  }
  HEFT_ASSIGN_OR_RETURN(bytes, Sign(options, std::move(bytes)));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  const std::string what = options.fuse == "client" ? "fused" : options.modalities[0];
  Print(common,
        {{"out", options.out},
         {"modality", what},
         {"samples", rows[0].size()},
         {"averaged", options.average},
         {"bytes", bytes.size()}},
        absl::StrCat(options.average ? "encrypted the means of " : "encrypted ", rows[0].size(),
                     " ", what, " samples: ", options.out, ", ", HumanBytes(bytes.size())));
  return absl::OkStatus();
}

}  // namespace

void AddEncrypt(Command app) {
  const auto [command, options] =
      AddCommand(app, "encrypt", "encrypt feature vectors of one modality (client)",
                 "heft encrypt --model m.heft --key encryption.key --modality face --in face.npy "
                 "--labels labels.txt --out face.ct",
                 RunEncrypt);
  command.Add("-m,--model", &options->owner.model, "model file").Required();
  const Option key = command.Add("-k,--key", &options->key, "encryption key");
  const Option secret =
      command.Add("--secret-key", &options->owner.secret_key,
                  "encrypt with the secret key instead: half the size, less noise");
  key.Excludes(secret);
  command.Add("--passphrase-file", &options->owner.passphrase_file,
              "first line: passphrase of the secret key");
  command
      .Add("--modality", &options->modalities,
           "name of the modality in the model; with --fuse client one per --in")
      .Required();
  command.Add("-i,--in", &options->inputs, "feature vectors: .npy, or text rows").Required();
  command.Add("-o,--out", &options->out, "file for the encrypted samples").Required();
  const Option labels =
      command.Add("--labels", &options->labels, "file with the identity of each row, one per line");
  command.Add("--label", &options->label, "one identity for all rows").Excludes(labels);
  const Option bulk =
      command.Add("--bulk", &options->bulk,
                  "for enrolment only: one ciphertext per coordinate for up to 4,096 rows (N / 2); "
                  "smaller if there are more rows than dimensions");
  command
      .Add("--for", &options->use,
           "enrolment and verification are one use, probes of an "
           "identification have a fifth of the size")
      .Choices({"enrolment", "verification", "identification"})
      .ShowDefault();
  command
      .Add("--fuse", &options->fuse,
           "where modalities are fused: server; partial: projected "
           "here and added by the server; client: fused and normalised here")
      .Choices({"server", "partial", "client"})
      .Excludes(bulk)
      .ShowDefault();
  const Option row = command.Add("--row", &options->row, "only this row, from 0");
  command
      .Add("--average", &options->average,
           absl::StrCat(
               "the rows of one label, up to ", kMaxSamples,
               " (or all rows without labels) become one sample, their mean, computed here"))
      .Excludes(row);
  command.RequireOneOf(key, secret);
  AddTrustOptions(command, &options->trust, "the encryption key");
  const Option sign = command.Add(
      "--sign", &options->sign, "sign the output as a client, with this key (heft trust new-key)");
  command.Add("--to", &options->to, "server.pub of the only server that may accept it").Needs(sign);
  AddLife(command, &options->life);
}

}  // namespace heft::cli
