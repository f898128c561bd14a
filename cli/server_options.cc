// SPDX-License-Identifier: Apache-2.0
#include "cli/server_options.h"

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

absl::StatusOr<std::optional<Trust>> LoadTrustFor(const TrustOptions& options,
                                                  const LoadedKeys& keys) {
  if (keys.expanded) return LoadTrust(options, keys.path);
  return LoadTrustFor(options, keys.path, keys.bytes);
}

absl::Status CheckKeys(const std::optional<Trust>& trust, const std::string& kind,
                       LoadedKeys* keys) {
  const Expected expected = {.roles = {Role::kKeyOwner}, .kind = kind};
  if (!keys->expanded) {
    HEFT_ASSIGN_OR_RETURN(keys->file, CheckSigned(trust, keys->bytes, expected, keys->path));
  } else if (trust) {
    HEFT_ASSIGN_OR_RETURN(keys->file, keys->expanded->CheckSigned(*trust, expected, keys->path));
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckedKeys> LoadCheckedKeys(const ServerOptions& options, bool enrols) {
  CheckedKeys keys;
  HEFT_ASSIGN_OR_RETURN(keys.evaluation, ReadKeys(options, options.keys));
  HEFT_ASSIGN_OR_RETURN(keys.trust, LoadTrustFor(options.trust, keys.evaluation));
  HEFT_ASSIGN_OR_RETURN(keys.model, LoadTrustedModel(options.model, keys.trust));
  HEFT_RETURN_IF_ERROR(CheckKeys(keys.trust, "EVAL", &keys.evaluation));
  if (!enrols) return keys;
  HEFT_ASSIGN_OR_RETURN(keys.enrolment, ReadEnrolmentKeys(options));
  if (!keys.enrolment.found()) return keys;
  HEFT_RETURN_IF_ERROR(CheckKeys(keys.trust, "ENRK", &keys.enrolment));
  if (keys.enrolment.file.signer == keys.evaluation.file.signer) return keys;
  return absl::FailedPreconditionError(absl::StrCat(
      keys.enrolment.path, ": signed by another key owner than ", keys.evaluation.path));
}

absl::Status Expand(const Model& model, LoadedKeys* keys) {
  HEFT_RETURN_IF_ERROR(ExpandedKeys::Make(model, keys->path, keys->expanded_path));
  HEFT_ASSIGN_OR_RETURN(keys->expanded, ExpandedKeys::Open(keys->expanded_path, keys->path));
  return absl::OkStatus();
}

namespace {

// What is left of an expanded file that is of no use is made anew: somebody once asked for it.
absl::Status Renew(const Common& common, const Model& model, const std::optional<Trust>& trust,
                   const std::string& kind, LoadedKeys* keys) {
  if (keys->why.ok()) return absl::OkStatus();
  const std::string why(keys->why.message());
  if (!absl::IsDataLoss(keys->why)) {
    Warn(common, absl::StrCat(why, "; the keys themselves are read"));
    return absl::OkStatus();
  }
  if (const absl::Status made = Expand(model, keys); !made.ok()) {
    Warn(common, absl::StrCat(why, "; making it anew: ", std::string(made.message()),
                              "; the keys themselves are read"));
    return absl::OkStatus();
  }
  Warn(common, absl::StrCat(why, "; made anew"));
  return CheckKeys(trust, kind, keys);  // the file may have been replaced meanwhile
}

}  // namespace

absl::StatusOr<LoadedServer> LoadServer(const Common& common, const ServerOptions& options,
                                        bool enrols) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(CheckedKeys keys, LoadCheckedKeys(options, enrols));
  HEFT_RETURN_IF_ERROR(Renew(common, keys.model, keys.trust, "EVAL", &keys.evaluation));
  if (keys.enrolment.found()) {
    HEFT_RETURN_IF_ERROR(Renew(common, keys.model, keys.trust, "ENRK", &keys.enrolment));
  }
  HEFT_ASSIGN_OR_RETURN(
      Server server, Server::CreateFrom(keys.model, keys.evaluation.view(), keys.enrolment.view()));
  return LoadedServer{std::move(server), std::move(keys.trust), keys.evaluation.file.signer};
}

}  // namespace heft::cli
