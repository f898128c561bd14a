// SPDX-License-Identifier: Apache-2.0
#include "cli/server_options.h"

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

absl::StatusOr<Server> LoadServer(const ServerOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> keys, ReadFile(options.keys));
  return Server::Create(model, keys, options.keys);
}

}  // namespace heft::cli
