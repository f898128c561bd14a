// SPDX-License-Identifier: Apache-2.0
// Options and files that enrol, identify and verify share.
#ifndef HEFT_CLI_SERVER_FILES_H_
#define HEFT_CLI_SERVER_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "cli/common.h"
#include "gallery/server.h"

namespace heft::cli {

struct ServerOptions {
  std::string model, keys, gallery;
  std::vector<std::string> inputs;
};

void AddServerOptions(Command command, ServerOptions* options);

struct LoadedServer {
  std::unique_ptr<Server> server;
  SampleSet samples;
};
absl::StatusOr<LoadedServer> LoadServer(const ServerOptions& options);

}  // namespace heft::cli

#endif  // HEFT_CLI_SERVER_FILES_H_
