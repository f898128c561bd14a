// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/config.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/files.h"
#include "service/http/token_uri.h"
#include "service/run/config_reader.h"

namespace heft::service {
namespace {

constexpr uint64_t kYear = 366 * 86400;

void ReadStore(const ConfigTable& store, MatcherConfig* config) {
  config->store = store.RequiredPath("folder");
  config->signing_key = store.Text("signing_key", "");
  if (!config->signing_key.empty() && !config->signing_key.starts_with(kTokenScheme)) {
    store.Wrong("signing_key",
                "must be an Ed25519 key in a token, \"pkcs11:...\"; leave it out for a key in a "
                "file of the store");
  }
  if (IsDatabase(config->store)) {
    // The server's keys and the cache, which lie beside a store in a folder, are in this folder.
    config->state = store.RequiredPath("state");
    config->staging = store.Path("staging", config->state + ".staging");
  } else {
    config->state = store.Path("state", config->store + ".state");
    config->staging = store.Path("staging", config->store + ".staging");
  }
  config->cache_bytes = store.Number("cache_bytes", 0, 0, uint64_t{1} << 50);
  config->snapshots = store.Path("snapshots");
  config->galleries = store.Texts("galleries");
  const Galleries names(config->store);
  for (const std::string& name : config->galleries) {
    const auto address = names.Address(name);
    if (!address.ok()) store.Wrong("galleries", std::string(address.status().message()));
  }
  config->retained.seconds = store.Number("retention_seconds", Retained{}.seconds, 0, kYear);
  config->retained.bytes = store.Number("retention_bytes", Retained{}.bytes, 0, uint64_t{1} << 40);
  config->writer_wait = static_cast<int>(store.Number("writer_wait_seconds", 20, 1, 3600));
  config->upkeep.sweep = store.Seconds("expired_seconds", 3600, 1, 86400);
}

void ReadShards(const ConfigTable& shards, MatcherConfig* config) {
  config->router = shards.Text("router", "");
  config->sharded = shards.Texts("galleries");
  if (config->router.empty() != config->sharded.empty()) {
    shards.Wrong("galleries", "and router: give both, or neither");
  }
  const Galleries names(config->store);
  for (const std::string& name : config->sharded) {
    const auto address = names.Address(name);
    if (!address.ok()) shards.Wrong("galleries", std::string(address.status().message()));
    if (std::ranges::count(config->galleries, name) > 0) {
      shards.Wrong("galleries", absl::StrCat("\"", name, "\" is in [store] galleries too"));
    }
  }
}

void ReadKeys(const ConfigTable& keys, EngineFiles* files) {
  files->model = keys.RequiredPath("model");
  files->evaluation_keys = keys.RequiredPath("evaluation");
  files->enrolment_keys = keys.Path("enrolment");
  files->encryption_key = keys.Path("encryption");
  files->key_cache = keys.Path("cache");
  files->trust = keys.RequiredPath("trust");
}

void ReadMatching(const ConfigTable& matching, MatcherConfig* config) {
  config->batch.most = static_cast<uint32_t>(matching.Number("batch", 64, 1, 64));
  config->batch.queued =
      static_cast<uint32_t>(matching.Number("queued", config->batch.most, 1, 65536));
  config->verifications = static_cast<uint32_t>(matching.Number("verifications", 2, 1, 256));
  config->threads = static_cast<int>(matching.Number("threads", 0, 0, 1024));
  config->reply_life = matching.Number("reply_life_seconds", kLife, 1, kAdmissionLife);
  config->sample_bytes = matching.Number("sample_bytes", 32u << 20, 1 << 10, kMaxSamplesSize);
  config->key_bytes = matching.Number("key_bytes", uint64_t{1} << 30, 1 << 20, kMaxKeysSize);
}

void ReadDecider(const ConfigTable& decider, MatcherConfig* config) {
  config->decider_url = decider.Text("url", "");
  config->decider_tls = ReadPeerTls(decider, config->common.tls);
  config->exchange.poll =
      std::chrono::milliseconds(decider.Number("poll_milliseconds", 2000, 10, 3600 * 1000));
  config->upkeep.poll = config->exchange.poll;
  config->exchange.patience = decider.Seconds("patience_seconds", 30, 1, 3600);
}

void ReadCallbacks(const ConfigTable& callbacks, MatcherConfig* config) {
  config->callbacks = callbacks.Texts("allowed");
  for (const std::string& url : config->callbacks) {
    if (!absl::StartsWith(url, "https://") || url.find('/', 8) != std::string::npos) {
      callbacks.Wrong("allowed", "must each be https://HOST:PORT, without a path");
    }
  }
}

}  // namespace

absl::StatusOr<MatcherConfig> ReadMatcherConfig(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const Config file, Config::Read(path));
  MatcherConfig config;
  config.common = ReadCommonConfig(file);
  ReadStore(file.root().Table("store"), &config);
  ReadShards(file.root().Table("shards"), &config);
  ReadKeys(file.root().Table("keys"), &config.files);
  ReadMatching(file.root().Table("matching"), &config);
  if (!file.root().Table("limits").Has("workers")) {
    config.common.limits.workers = DefaultWorkers(config.batch);
  }
  ReadDecider(file.root().Table("decider"), &config);
  ReadCallbacks(file.root().Table("callbacks"), &config);
  const ConfigTable tasks = file.root().Table("tasks");
  config.tasks.workers = static_cast<uint32_t>(tasks.Number("workers", 2, 1, 64));
  config.tasks.queued = static_cast<uint32_t>(tasks.Number("queued", 64, 1, 4096));
  config.tasks.kept = static_cast<uint32_t>(tasks.Number("kept", 1024, 1, 1 << 20));
  HEFT_RETURN_IF_ERROR(file.Check());
  return config;
}

}  // namespace heft::service
