// SPDX-License-Identifier: Apache-2.0
// MatcherConfig: the configuration of heft-matcher; docs/operations.md lists every key.
#ifndef HEFT_SERVICE_MATCHER_CONFIG_H_
#define HEFT_SERVICE_MATCHER_CONFIG_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "service/http/tls.h"
#include "service/matcher/batcher.h"
#include "service/matcher/engine.h"
#include "service/matcher/exchange.h"
#include "service/matcher/tasks.h"
#include "service/matcher/upkeep.h"
#include "service/run/daemon.h"

namespace heft::service {

// DefaultWorkers: a probe holds a worker while it waits and while it is matched; other requests
// need some too. With fewer, a request beyond the limits would wait instead of being refused.
constexpr uint32_t DefaultWorkers(const BatchLimits& batch) {
  return std::min(batch.most + batch.queued + 16, 1024u);
}

struct MatcherConfig {
  CommonConfig common;
  std::string store;        // [store] folder, or "postgres:SERVICE"
  std::string signing_key;  // [store] signing_key: "pkcs11:..."; empty: a file of the store
  std::string state;        // [store] state: how far galleries have come
  std::string staging;      // [store] staging: keys and models that came and wait
  std::string snapshots;    // [store] snapshots: below it, copies; empty: none are made
  uint64_t cache_bytes =
      0;  // [store] cache_bytes: of a database's blobs on this machine; 0: default
  std::vector<std::string> galleries;  // [store] galleries: made at the start where they are not
  Retained retained;
  int writer_wait = 20;                    // seconds for which changes wait for others
  EngineFiles files;                       // [keys]
  std::string router;                      // [shards] router: service of its database; empty: none
  std::vector<std::string> sharded;        // [shards] galleries, in buckets on the router's nodes
  BatchLimits batch;                       // [matching]
  uint32_t verifications = 2;              // at once
  int threads = 0;                         // of a pass; 0: all cores
  uint64_t sample_bytes = 32u << 20;       // of a request with samples
  uint64_t key_bytes = uint64_t{1} << 30;  // of a key set or a model
  uint64_t reply_life = kLife;             // seconds
  TaskLimits tasks;
  std::string decider_url;  // [decider]; empty: replies go back as they are
  TlsFiles decider_tls;
  ExchangeOptions exchange;
  UpkeepOptions upkeep;
  std::vector<std::string> callbacks;  // [callbacks] allowed: "https://host:port" of OSIA callbacks
};

// ReadMatcherConfig: kInvalidArgument names every wrong key with file and line.
absl::StatusOr<MatcherConfig> ReadMatcherConfig(const std::string& path);

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_CONFIG_H_
