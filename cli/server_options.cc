// SPDX-License-Identifier: Apache-2.0
#include "cli/server_options.h"

#include "absl/strings/str_cat.h"

namespace heft::cli {

void AddServerOptions(Command command, ServerOptions* options) {
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--keys", &options->keys, "evaluation keys").Required();
  command.Add("-g,--gallery", &options->gallery, "gallery folder").Required();
  command.Add("-i,--in", &options->inputs, "encrypted samples, one file a modality").Required();
}

absl::StatusOr<std::vector<SampleFile>> ReadSamples(const ServerOptions& options) {
  std::vector<SampleFile> files;
  for (const std::string& path : options.inputs) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
    files.push_back({std::move(bytes), path});
  }
  return files;
}

void AddEnrolmentKeys(Command command, ServerOptions* options) {
  command.Add("--enrolment-keys", &options->enrolment_keys,
              "keys for enrolment and verification, for models of profile thin; without it "
              "enrolment.keys beside the evaluation keys, if it is there");
}

absl::StatusOr<Server> LoadServer(const ServerOptions& options, bool enrols) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> keys, ReadFile(options.keys));
  if (!enrols) return Server::Create(model, keys, options.keys);
  const bool given = !options.enrolment_keys.empty();
  const std::string path =
      given ? options.enrolment_keys
            : options.keys.substr(0, options.keys.find_last_of('/') + 1) + "enrolment.keys";
  const auto enrolment = ReadFile(path);
  if (!given && absl::IsNotFound(enrolment.status())) {
    return Server::Create(model, keys, options.keys);
  }
  HEFT_RETURN_IF_ERROR(enrolment.status());
  // No bytes would mean: no such keys.
  if (enrolment->empty()) return absl::DataLossError(absl::StrCat(path, ": the file is empty"));
  return Server::Create(model, keys, options.keys, *enrolment, path);
}

}  // namespace heft::cli
