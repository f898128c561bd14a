// SPDX-License-Identifier: Apache-2.0
#include "program/server_options.h"

#include "absl/strings/str_cat.h"
#include "heft/shards.h"

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
  command.Add("-i,--in", &options->inputs, "encrypted samples, one file per modality").Required();
}

absl::StatusOr<std::vector<SampleFile>> ReadSampleFiles(const std::vector<std::string>& paths,
                                                        uint64_t max_size) {
  std::vector<SampleFile> files;
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path, max_size));
    files.push_back({std::move(bytes), path});
  }
  return files;
}

Option AddShards(Command command, ServerOptions* options) {
  return command.Add("--shards", &options->shards,
                     "shard list of a gallery whose buckets are in one store; --gallery is then "
                     "FOLDER:NAME for the buckets FOLDER:NAME.000 and on");
}

absl::StatusOr<std::optional<ShardList>> LoadShards(const ServerOptions& options) {
  std::optional<ShardList> none;
  if (options.shards.empty()) return none;
  HEFT_ASSIGN_OR_RETURN(ShardList shards, ShardList::Load(options.shards));
  return std::optional<ShardList>(std::move(shards));
}

void AddEnrolmentKeys(Command command, ServerOptions* options) {
  command.Add("--enrolment-keys", &options->enrolment_keys,
              "keys for enrolment and verification (default: "
              "enrolment.keys beside the evaluation keys, if it exists)");
}

Option AddWait(Command command, int* seconds) {
  return command
      .Add("--wait", seconds,
           "seconds to wait for other writers of this store, or for readers of data to erase")
      .Range(0, 86400)
      .ShowDefault();
}

void AddKeyCache(Command command, ServerOptions* options) {
  command.Add(
      "--key-cache", &options->key_cache,
      "folder of the expanded keys from heft-server prepare-keys (default: that of the keys)");
}

namespace {

absl::StatusOr<LoadedKeys> ReadEnrolmentKeys(const ServerOptions& options) {
  const bool given = !options.enrolment_keys.empty();
  const std::string beside =
      options.keys.substr(0, options.keys.find_last_of('/') + 1) + "enrolment.keys";
  auto keys = LoadedKeys::Read(given ? options.enrolment_keys : beside, options.key_cache);
  if (!given && absl::IsNotFound(keys.status())) return LoadedKeys();
  return keys;
}

bool Mend(const Common& common, const Model& model, LoadedKeys* keys) {
  std::string notice;
  const bool made = keys->Mend(model, &notice);
  if (!notice.empty()) Warn(common, notice);
  return made;
}

}  // namespace

absl::StatusOr<ServerKeys> LoadServerKeys(const ServerOptions& options, bool enrols) {
  ServerKeys keys;
  HEFT_ASSIGN_OR_RETURN(keys.evaluation, LoadedKeys::Read(options.keys, options.key_cache));
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

absl::StatusOr<TrustedServer> LoadServer(const Common& common, const ServerOptions& options,
                                         bool enrols) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(ServerKeys keys, LoadServerKeys(options, enrols));
  HEFT_ASSIGN_OR_RETURN(CheckedKeys checked, keys.Check());
  const bool mended = Mend(common, keys.model, &keys.evaluation);
  if (Mend(common, keys.model, &keys.enrolment) || mended) {  // one may be another meanwhile
    HEFT_ASSIGN_OR_RETURN(checked, keys.Check());
  }
  return TrustedServer::Create(keys.model, keys.trust, checked);
}

void TakeHeadBeside(const Common& common, const TrustedServer& server, const ServerOptions& options,
                    const std::optional<ShardList>& shards) {
  if (!server.trust) return;
  const std::string path =
      options.keys.substr(0, options.keys.find_last_of('/') + 1) + "journal.head";
  const auto head = ReadFile(path, 1 << 12);
  if (absl::IsNotFound(head.status())) return;
  absl::Status taken = head.status();
  for (uint32_t bucket = 0; taken.ok() && bucket < (shards ? shards->size() : 1); ++bucket) {
    const std::string gallery = shards ? BucketAddress(options.gallery, bucket) : options.gallery;
    taken = server.TakeHead(gallery, *head, path).status();
  }
  // Without a gallery there is nothing to keep it in, and the command itself says so.
  if (taken.ok() || absl::IsNotFound(taken)) return;
  Warn(common, absl::StrCat("the end of the key owner's journal is not taken, so replies do not "
                            "carry it: ",
                            taken.message()));
}

absl::Status CheckBelieves(const TrustedServer& server, const std::string& what) {
  if (server.trust) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " needs a trusted signature: give --trust instead of --unchecked"));
}

}  // namespace heft::cli
