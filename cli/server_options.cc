// SPDX-License-Identifier: Apache-2.0
#include "cli/server_options.h"

#include "absl/strings/str_cat.h"

namespace heft::cli {

void AddGalleryOptions(Command command, ServerOptions* options) {
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--keys", &options->keys, "evaluation keys").Required();
  command.Add("-g,--gallery", &options->gallery, "gallery folder").Required();
  AddTrustOptions(command, &options->trust, "the evaluation keys");
}

void AddServerOptions(Command command, ServerOptions* options) {
  AddGalleryOptions(command, options);
  command.Add("-i,--in", &options->inputs, "encrypted samples, one file a modality").Required();
  command
      .Add("--max-sample-file", &options->max_sample_mib,
           "in MiB: refuse larger files of samples before reading them")
      .Range(1, static_cast<double>(kMaxFileSize >> 20))
      .ShowDefault();
}

absl::StatusOr<std::vector<SampleFile>> ReadSamples(const ServerOptions& options) {
  std::vector<SampleFile> files;
  for (const std::string& path : options.inputs) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path, options.max_sample_mib << 20));
    files.push_back({std::move(bytes), path});
  }
  return files;
}

void AddEnrolmentKeys(Command command, ServerOptions* options) {
  command.Add(
      "--enrolment-keys", &options->enrolment_keys,
      "keys for enrolment and verification, for models of profiles thin and flooded; without it "
      "enrolment.keys beside the evaluation keys, if it is there");
}

namespace {

// The bytes of the enrolment keys, and where they lie; none where nobody asked for them and there
// are none.
struct EnrolmentKeys {
  std::vector<uint8_t> bytes;
  std::string path;
};
absl::StatusOr<EnrolmentKeys> ReadEnrolmentKeys(const ServerOptions& options) {
  const bool given = !options.enrolment_keys.empty();
  EnrolmentKeys keys;
  keys.path = given ? options.enrolment_keys
                    : options.keys.substr(0, options.keys.find_last_of('/') + 1) + "enrolment.keys";
  auto bytes = ReadFile(keys.path, kMaxKeysSize);
  if (!given && absl::IsNotFound(bytes.status())) return keys;
  HEFT_RETURN_IF_ERROR(bytes.status());
  // No bytes would mean: no such keys.
  if (bytes->empty()) return absl::DataLossError(absl::StrCat(keys.path, ": the file is empty"));
  keys.bytes = *std::move(bytes);
  return keys;
}

}  // namespace

absl::StatusOr<LoadedServer> LoadServer(const ServerOptions& options, bool enrols) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> keys, ReadFile(options.keys, kMaxKeysSize));
  HEFT_ASSIGN_OR_RETURN(std::optional<Trust> trust,
                        LoadTrustFor(options.trust, options.keys, keys));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadTrustedModel(options.model, trust));
  HEFT_ASSIGN_OR_RETURN(
      const SignedFile evaluation,
      CheckSigned(trust, keys, {.roles = {Role::kKeyOwner}, .kind = "EVAL"}, options.keys));
  const SignerKey owner = evaluation.signer;
  EnrolmentKeys enrolment;
  if (enrols) {
    HEFT_ASSIGN_OR_RETURN(enrolment, ReadEnrolmentKeys(options));
  }
  std::span<const uint8_t> more;
  if (!enrolment.bytes.empty()) {
    HEFT_ASSIGN_OR_RETURN(
        const SignedFile file,
        CheckSigned(trust, enrolment.bytes, {.roles = {Role::kKeyOwner}, .kind = "ENRK"},
                    enrolment.path));
    if (file.signer != owner) {
      return absl::FailedPreconditionError(
          absl::StrCat(enrolment.path, ": signed by another key owner than ", options.keys));
    }
    more = file.file;
  }
  HEFT_ASSIGN_OR_RETURN(Server server,
                        Server::Create(model, evaluation.file, options.keys, more, enrolment.path));
  return LoadedServer{std::move(server), std::move(trust), owner};
}

}  // namespace heft::cli
