// SPDX-License-Identifier: Apache-2.0
// Options that enrol, identify and verify share.
#ifndef HEFT_CLI_SERVER_OPTIONS_H_
#define HEFT_CLI_SERVER_OPTIONS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/trust_options.h"
#include "heft/files.h"
#include "heft/server.h"

namespace heft::cli {

struct ServerOptions {
  std::string model, keys, enrolment_keys, gallery;
  TrustOptions trust;
  std::vector<std::string> inputs;
  size_t max_sample_mib = kMaxSamplesSize >> 20;
};

// AddGalleryOptions: model, evaluation keys, gallery and trust. AddServerOptions: and samples.
void AddGalleryOptions(Command command, ServerOptions* options);
void AddServerOptions(Command command, ServerOptions* options);
absl::StatusOr<std::vector<SampleFile>> ReadSamples(const ServerOptions& options);
// AddEnrolmentKeys: for commands that enrol or verify.
void AddEnrolmentKeys(Command command, ServerOptions* options);
// LoadedServer: a server with keys that somebody who is trusted has signed.
struct LoadedServer {
  Server server;
  std::optional<Trust> trust;  // none: --unchecked
  SignerKey key_owner{};       // who made the evaluation keys; zeros without trust

  // Who asks; the files as they came.
  absl::StatusOr<Request> CheckRequest(std::span<const SampleFile> files,
                                       const SignerKey& server_key) const {
    return ReadRequest(files, trust ? &*trust : nullptr, server_key);
  }
};
// LoadServer: with the keys for enrolment and verification if `enrols`.
absl::StatusOr<LoadedServer> LoadServer(const ServerOptions& options, bool enrols);

}  // namespace heft::cli

#endif  // HEFT_CLI_SERVER_OPTIONS_H_
