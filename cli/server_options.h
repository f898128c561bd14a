// SPDX-License-Identifier: Apache-2.0
// Options that enrol, identify and verify share.
#ifndef HEFT_CLI_SERVER_OPTIONS_H_
#define HEFT_CLI_SERVER_OPTIONS_H_

#include <string>
#include <vector>

#include "cli/common.h"
#include "heft/server.h"

namespace heft::cli {

struct ServerOptions {
  std::string model, keys, enrolment_keys, gallery;
  std::vector<std::string> inputs;
};

void AddServerOptions(Command command, ServerOptions* options);
absl::StatusOr<std::vector<SampleFile>> ReadSamples(const ServerOptions& options);
// AddEnrolmentKeys: for commands that enrol or verify.
void AddEnrolmentKeys(Command command, ServerOptions* options);
// LoadServer: with the keys for enrolment and verification if `enrols`.
absl::StatusOr<Server> LoadServer(const ServerOptions& options, bool enrols);

}  // namespace heft::cli

#endif  // HEFT_CLI_SERVER_OPTIONS_H_
