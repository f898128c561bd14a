// SPDX-License-Identifier: Apache-2.0
// The kinds of stores in PostgreSQL: with a cache of blobs, and without.
#include "postgres/libpq_session.h"
#include "postgres/server_testing.h"
#include "store/testing.h"

namespace heft::store_testing {
namespace {

std::shared_ptr<Store> Make(std::shared_ptr<BlobCache> cache) {
  const std::string service = postgres_testing::SharedServer().NewDatabase();
  SqlOptions options;
  options.name = service;
  options.cache = std::move(cache);
  return *OpenSqlStore([service] { return ConnectByService(service); }, StoreMode::kCreate,
                       options);
}

}  // namespace

std::vector<StoreKind> StoreKinds() {
  if (!postgres_testing::ServerIsInstalled()) {
    return {{"Postgres", [](const std::string&) { return nullptr; }}};
  }
  return {{"Postgres", [](const std::string&) { return Make(nullptr); }},
          {"PostgresCached", [](const std::string& folder) {
             return Make(*BlobCache::Open(folder + "/blobs", uint64_t{64} << 20));
           }}};
}

}  // namespace heft::store_testing
