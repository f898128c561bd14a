// SPDX-License-Identifier: Apache-2.0
#include "cli/server_files.h"

#include "base/files.h"

namespace heft::cli {

void AddServerOptions(Command command, ServerOptions* options) {
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--keys", &options->keys, "evaluation keys").Required();
  command.Add("-g,--gallery", &options->gallery, "gallery folder").Required();
  command.Add("-i,--in", &options->inputs, "encrypted samples, one file a modality").Required();
}

absl::StatusOr<LoadedServer> LoadServer(const ServerOptions& options) {
  LoadedServer loaded;
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  // The small files first: their errors should not wait for the keys.
  std::vector<SampleReader> files;
  for (const std::string& path : options.inputs) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path));
    HEFT_ASSIGN_OR_RETURN(SampleReader file,
                          SampleReader::Parse(instance.context, std::move(bytes), path));
    files.push_back(std::move(file));
  }
  HEFT_ASSIGN_OR_RETURN(loaded.samples, SampleSet::Create(instance, model, std::move(files)));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> keys, ReadFile(options.keys));
  HEFT_ASSIGN_OR_RETURN(loaded.server, Server::Create(model, keys, options.keys));
  return loaded;
}

}  // namespace heft::cli
