// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the store in PostgreSQL: a store in a database of its own.
#ifndef HEFT_POSTGRES_SQL_TESTING_H_
#define HEFT_POSTGRES_SQL_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "postgres/libpq_session.h"
#include "postgres/server_testing.h"
#include "store/testing.h"

namespace heft::postgres_testing {

class SqlStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ServerIsInstalled()) GTEST_SKIP() << "postgresql-15 is not installed";
    service_ = SharedServer().NewDatabase();
    cache_ = *BlobCache::Open(CacheFolder(), uint64_t{64} << 20);
    store_ = *Open(StoreMode::kCreate);
  }
  // Open: as another process would, with its own sessions.
  absl::StatusOr<std::shared_ptr<Store>> Open(StoreMode mode,
                                              absl::Duration patience = absl::Seconds(60)) const {
    SqlOptions options;
    options.name = service_;
    options.cache = cache_;
    options.patience = patience;
    return OpenSqlStore([service = service_] { return ConnectByService(service); }, mode, options);
  }
  std::string CacheFolder() const { return folder_ / "blobs"; }
  bool Sql(const std::string& statements) { return SharedServer().Sql(service_, statements); }
  std::string Ask(const std::string& statement) { return SharedServer().Ask(service_, statement); }
  // Until: waits until `statement` returns `answer`; false if it never does.
  bool Until(const std::string& statement, const std::string& answer) {
    for (int i = 0; i < 1000; ++i) {
      if (Ask(statement) == answer) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  const testing::TemporaryFolder folder_;
  std::string service_;
  std::shared_ptr<BlobCache> cache_;
  std::shared_ptr<Store> store_;
};

}  // namespace heft::postgres_testing

#endif  // HEFT_POSTGRES_SQL_TESTING_H_
