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
#include "heft/expanded_keys.h"
#include "heft/files.h"
#include "heft/server.h"
#include "heft/shards.h"

namespace heft::cli {

// kGalleryHelp: of --gallery.
inline constexpr char kGalleryHelp[] =
    "gallery: its folder, or FOLDER:NAME for one of several in a folder";
// kWriterWait: seconds, of --wait.
inline constexpr int kWriterWait = 60;

struct ServerOptions {
  std::string model, keys, enrolment_keys, key_cache, gallery, shards;
  TrustOptions trust;
  std::vector<std::string> inputs;
  size_t max_sample_mib = kMaxSamplesSize >> 20;
  int wait = kWriterWait;
};

// AddGalleryOptions: model, evaluation keys, gallery and trust. AddServerOptions: and samples.
void AddGalleryOptions(Command command, ServerOptions* options);
void AddServerOptions(Command command, ServerOptions* options);
absl::StatusOr<std::vector<SampleFile>> ReadSamples(const ServerOptions& options);
// AddEnrolmentKeys: for commands that enrol or verify.
void AddEnrolmentKeys(Command command, ServerOptions* options);
// AddShards: for commands that take a gallery in buckets; LoadShards: its list, where there is one.
Option AddShards(Command command, ServerOptions* options);
absl::StatusOr<std::optional<ShardList>> LoadShards(const ServerOptions& options);
// AddWait: for commands that change a gallery; LoadServer takes it from the options.
void AddWait(Command command, int* seconds);
// AddKeyCache: where expanded keys lie; in AddGalleryOptions already.
void AddKeyCache(Command command, ServerOptions* options);

// LoadedKeys: a file of keys, expanded already or as it is.
struct LoadedKeys {
  std::string path, expanded_path;
  std::optional<ExpandedKeys> expanded;
  std::vector<uint8_t> bytes;  // otherwise
  absl::Status why;            // an expanded file that is there is of no use
  SignedFile file;             // in `bytes`, once CheckKeys has passed

  bool found() const { return expanded.has_value() || !bytes.empty(); }
  KeyFile view() const { return {file.file, path, expanded ? &*expanded : nullptr}; }
};
// ReadKeys: of `path`, whoever made them. ReadEnrolmentKeys: those of the options, or none where
// nobody asked for them and there are none.
absl::StatusOr<LoadedKeys> ReadKeys(const ServerOptions& options, const std::string& path);
absl::StatusOr<LoadedKeys> ReadEnrolmentKeys(const ServerOptions& options);
// LoadTrustFor: which keys' signatures count (cli/trust_options.h). CheckKeys: keys of this kind,
// signed by a key owner who is trusted.
absl::StatusOr<std::optional<Trust>> LoadTrustFor(const TrustOptions& options,
                                                  const LoadedKeys& keys);
absl::Status CheckKeys(const std::optional<Trust>& trust, const std::string& kind,
                       LoadedKeys* keys);
// Expand: keys that have been checked, into their expanded file, and takes that.
absl::Status Expand(const Model& model, LoadedKeys* keys);

// CheckedKeys: a model and keys of one key owner, who is trusted.
struct CheckedKeys {
  Model model;
  std::optional<Trust> trust;
  LoadedKeys evaluation, enrolment;
};
// LoadCheckedKeys: with those for enrolment, where there are any, if `enrols`. kFailedPrecondition
// for keys that two key owners signed.
absl::StatusOr<CheckedKeys> LoadCheckedKeys(const ServerOptions& options, bool enrols);

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
// LoadServer: with the keys for enrolment and verification if `enrols`. Keys that were expanded are
// mapped; an expanded file that is damaged or of other keys is made anew, with a warning, and one
// that cannot be believed is left alone.
absl::StatusOr<LoadedServer> LoadServer(const Common& common, const ServerOptions& options,
                                        bool enrols);

}  // namespace heft::cli

#endif  // HEFT_CLI_SERVER_OPTIONS_H_
