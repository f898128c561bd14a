// SPDX-License-Identifier: Apache-2.0
// Options that enrol, identify and verify share.
#ifndef HEFT_PROGRAM_SERVER_OPTIONS_H_
#define HEFT_PROGRAM_SERVER_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "heft/desk.h"
#include "heft/files.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "program/common.h"
#include "program/trust_options.h"

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
  int wait = kWriterWait;
};

// AddGalleryOptions: model, evaluation keys, gallery and trust. AddServerOptions: and samples.
void AddGalleryOptions(Command command, ServerOptions* options);
void AddServerOptions(Command command, ServerOptions* options);
// ReadSampleFiles: whole files and their names, none larger than `max_size`.
absl::StatusOr<std::vector<SampleFile>> ReadSampleFiles(const std::vector<std::string>& paths,
                                                        uint64_t max_size = kMaxSamplesSize);
inline absl::StatusOr<std::vector<SampleFile>> ReadSamples(const ServerOptions& options) {
  return ReadSampleFiles(options.inputs, kMaxSamplesSize);
}
// AddEnrolmentKeys: for commands that enrol or verify.
void AddEnrolmentKeys(Command command, ServerOptions* options);
// AddShards: for commands that take a gallery in buckets; LoadShards: its shard list, if given.
Option AddShards(Command command, ServerOptions* options);
absl::StatusOr<std::optional<ShardList>> LoadShards(const ServerOptions& options);
// AddWait: for commands that change a gallery; LoadServer takes it from the options.
Option AddWait(Command command, int* seconds);
// AddKeyCache: where expanded keys lie; in AddGalleryOptions already.
void AddKeyCache(Command command, ServerOptions* options);

// ServerKeys: a model, keys, and the trust file for them.
struct ServerKeys {
  Model model;
  std::optional<Trust> trust;  // none: --unchecked
  LoadedKeys evaluation, enrolment;

  // Check: before anything is done with them.
  absl::StatusOr<CheckedKeys> Check() const {
    return CheckKeys(trust ? &*trust : nullptr, evaluation.view(), enrolment.view());
  }
};
// LoadServerKeys: with the enrolment keys if `enrols` and they exist: those of the options, or
// enrolment.keys beside the evaluation keys.
absl::StatusOr<ServerKeys> LoadServerKeys(const ServerOptions& options, bool enrols);

// LoadServer: with the keys for enrolment and verification if `enrols`. Damaged expanded keys are
// repaired (LoadedKeys::Mend), with a warning.
absl::StatusOr<TrustedServer> LoadServer(const Common& common, const ServerOptions& options,
                                         bool enrols);
// TakeHeadBeside: the server takes the end of the key owner's journal from journal.head, if it lies
// beside the evaluation keys, so that its replies carry it. Warns if it cannot. `shards`: of a
// gallery in buckets.
void TakeHeadBeside(const Common& common, const TrustedServer& server, const ServerOptions& options,
                    const std::optional<ShardList>& shards = {});
// CheckBelieves: kInvalidArgument for a server without trust, because `what` ("an admission") is
// accepted only by its signature.
absl::Status CheckBelieves(const TrustedServer& server, const std::string& what);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_SERVER_OPTIONS_H_
