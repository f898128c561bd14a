// SPDX-License-Identifier: Apache-2.0
#include "program/server_options.h"

#include "absl/strings/str_cat.h"

namespace heft::cli {

void AddGalleryOptions(Command command, ServerOptions* options) {
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-k,--keys", &options->keys, "evaluation keys").Required();
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  AddKeyCache(command, options);
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

Option AddShards(Command command, ServerOptions* options) {
  return command.Add("--shards", &options->shards,
                     "shard list of a gallery in buckets, which lie in one store: --gallery is "
                     "then FOLDER:NAME of FOLDER:NAME.000 and the others");
}

absl::StatusOr<std::optional<ShardList>> LoadShards(const ServerOptions& options) {
  std::optional<ShardList> none;
  if (options.shards.empty()) return none;
  HEFT_ASSIGN_OR_RETURN(ShardList shards, ShardList::Load(options.shards));
  return std::optional<ShardList>(std::move(shards));
}

void AddEnrolmentKeys(Command command, ServerOptions* options) {
  command.Add(
      "--enrolment-keys", &options->enrolment_keys,
      "keys for enrolment and verification, for models of profiles thin and flooded; without it "
      "enrolment.keys beside the evaluation keys, if it is there");
}

void AddWait(Command command, int* seconds) {
  command
      .Add("--wait", seconds,
           "seconds to wait for others who change a gallery of this store, or read what is to be "
           "erased")
      .Range(0, 86400)
      .ShowDefault();
}

void AddKeyCache(Command command, ServerOptions* options) {
  command.Add("--key-cache", &options->key_cache,
              "folder of the expanded keys (heft-server prepare-keys); without it they lie beside "
              "the keys");
}

absl::StatusOr<LoadedKeys> ReadKeys(const ServerOptions& options, const std::string& path) {
  LoadedKeys keys;
  keys.path = path;
  const std::string name = path.substr(path.find_last_of('/') + 1);
  keys.expanded_path = absl::StrCat(
      options.key_cache.empty() ? path : absl::StrCat(options.key_cache, "/", name), ".expanded");
  auto expanded = ExpandedKeys::Open(keys.expanded_path, path);
  if (expanded.ok()) {
    keys.expanded = *std::move(expanded);
    return keys;
  }
  if (!absl::IsNotFound(expanded.status())) keys.why = expanded.status();
  HEFT_ASSIGN_OR_RETURN(keys.bytes, ReadFile(path, kMaxKeysSize));
  return keys;
}

absl::StatusOr<LoadedKeys> ReadEnrolmentKeys(const ServerOptions& options) {
  const bool given = !options.enrolment_keys.empty();
  const std::string path =
      given ? options.enrolment_keys
            : options.keys.substr(0, options.keys.find_last_of('/') + 1) + "enrolment.keys";
  auto keys = ReadKeys(options, path);
  if (!given && absl::IsNotFound(keys.status())) return LoadedKeys();
  // No bytes would mean: no such keys.
  if (keys.ok() && !keys->found()) {
    return absl::DataLossError(absl::StrCat(path, ": the file is empty"));
  }
  return keys;
}

absl::StatusOr<ServerKeys> LoadServerKeys(const ServerOptions& options, bool enrols) {
  ServerKeys keys;
  HEFT_ASSIGN_OR_RETURN(keys.evaluation, ReadKeys(options, options.keys));
  HEFT_ASSIGN_OR_RETURN(
      keys.trust, keys.evaluation.expanded
                      ? LoadTrust(options.trust, keys.evaluation.path)
                      : LoadTrustFor(options.trust, keys.evaluation.path, keys.evaluation.bytes));
  HEFT_ASSIGN_OR_RETURN(keys.model, LoadTrustedModel(options.model, keys.trust));
  if (enrols) {
    HEFT_ASSIGN_OR_RETURN(keys.enrolment, ReadEnrolmentKeys(options));
  }
  return keys;
}

absl::Status Expand(const Model& model, LoadedKeys* keys) {
  HEFT_RETURN_IF_ERROR(ExpandedKeys::Make(model, keys->path, keys->expanded_path));
  HEFT_ASSIGN_OR_RETURN(keys->expanded, ExpandedKeys::Open(keys->expanded_path, keys->path));
  return absl::OkStatus();
}

namespace {

// What is left of an expanded file that is of no use is made anew: somebody once asked for it.
// Whether it was.
bool Renew(const Common& common, const Model& model, LoadedKeys* keys) {
  if (keys->why.ok()) return false;
  const std::string why(keys->why.message());
  if (!absl::IsDataLoss(keys->why)) {
    Warn(common, absl::StrCat(why, "; the keys themselves are read"));
    return false;
  }
  if (const absl::Status made = Expand(model, keys); !made.ok()) {
    Warn(common, absl::StrCat(why, "; making it anew: ", std::string(made.message()),
                              "; the keys themselves are read"));
    return false;
  }
  Warn(common, absl::StrCat(why, "; made anew"));
  return true;
}

}  // namespace

absl::StatusOr<TrustedServer> LoadServer(const Common& common, const ServerOptions& options,
                                         bool enrols) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(ServerKeys keys, LoadServerKeys(options, enrols));
  HEFT_ASSIGN_OR_RETURN(CheckedKeys checked, keys.Check());
  bool renewed = Renew(common, keys.model, &keys.evaluation);
  renewed = Renew(common, keys.model, &keys.enrolment) || renewed;
  if (renewed) {  // a file may have been replaced meanwhile
    HEFT_ASSIGN_OR_RETURN(checked, keys.Check());
  }
  return TrustedServer::Create(keys.model, keys.trust, checked);
}

}  // namespace heft::cli
