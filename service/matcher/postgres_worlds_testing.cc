// SPDX-License-Identifier: Apache-2.0
// With HEFT_TEST_STORE=postgres in the environment, the matcher's tests put the galleries of their
// worlds into PostgreSQL.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "postgres/server_testing.h"
#include "postgres/use_postgres.h"
#include "service/matcher/testing.h"

namespace heft::service::testing {
namespace {

using postgres_testing::ServerIsInstalled;
using postgres_testing::SharedServer;

const bool kSet = [] {
  const char* store = std::getenv("HEFT_TEST_STORE");
  if (store == nullptr || std::string_view(store) != "postgres") return false;
  if (!ServerIsInstalled()) {
    std::fprintf(stderr, "left out: postgresql-15 is not installed\n");
    std::_Exit(77);  // CTest calls it skipped
  }
  UsePostgres();
  world_store = [](const std::string&) { return "postgres:" + SharedServer().NewDatabase(); };
  return true;
}();

}  // namespace
}  // namespace heft::service::testing
